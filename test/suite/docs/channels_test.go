package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// channelLists are the lists of channels that no compiler and no other test compares. In the pattern
// of an entry, <kind> is the kind of the channel.
var channelLists = []struct {
	file, entry, what string
	fields            bool // it names every field of the channel
}{
	{"docs/specification.md", "(?m)^\\| `<kind>` \\| (events|incidents) \\|.*", "its row in section 19.1", true},
	{"docs/operations/notifications.md", "(?m)^\\| `<kind>` \\|", "its row in the table of channels: where its fields come from", false},
	{"adapters/httpapi/ui/src/notifications.ts", `type KindName =.*"<kind>"`, "its KindName, after which build.sh names the words and the glyph that it needs", false},
}

// TestEveryChannelIsInEveryList says what a channel lacks that has a row in domain/notify.
func TestEveryChannelIsInEveryList(t *testing.T) {
	for _, list := range channelLists {
		text, err := os.ReadFile("../../../" + list.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range notify.Channels() {
			entry := regexp.MustCompile(strings.ReplaceAll(list.entry, "<kind>", string(c.Kind))).Find(text)
			if entry == nil {
				t.Errorf("%s lacks %s: %s", list.file, c.Kind, list.what)
			}
			for _, f := range c.Fields {
				if list.fields && !strings.Contains(string(entry), "`"+f.Name+"`") {
					t.Errorf("%s lacks the field %s of %s", list.file, f.Name, c.Kind)
				}
			}
		}
	}
}
