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
}{
	{file: "docs/specification.md", entry: "(?m)^\\| `<kind>` \\| (events|incidents) \\|.*", what: "its row in section 19.1"},
	{file: "docs/operations/notifications.md", entry: "(?m)^\\| `<kind>` \\|", what: "its row in the table of channels: where its fields come from"},
	{file: "adapters/httpapi/ui/src/notifications.ts", entry: `type KindName =.*"<kind>"`, what: "its KindName, after which build.sh names the words and the glyph that it needs"},
}

// TestEveryChannelIsInEveryList says what a channel lacks that has a row in domain/notify.
func TestEveryChannelIsInEveryList(t *testing.T) {
	for _, list := range channelLists {
		text, err := os.ReadFile("../../../" + list.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range notify.Channels() {
			if !regexp.MustCompile(strings.ReplaceAll(list.entry, "<kind>", string(c.Kind))).Match(text) {
				t.Errorf("%s lacks %s: %s", list.file, c.Kind, list.what)
			}
		}
	}
}

// TestTheSpecificationNamesEveryFieldOfAChannel compares section 19.1 with domain/notify.
func TestTheSpecificationNamesEveryFieldOfAChannel(t *testing.T) {
	text, err := os.ReadFile("../../../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range notify.Channels() {
		row := regexp.MustCompile("(?m)^\\| `" + string(c.Kind) + "` \\| (events|incidents) \\|.*").Find(text)
		for _, f := range c.Fields {
			if !strings.Contains(string(row), "`"+f.Name+"`") {
				t.Errorf("section 19.1 lacks the field %s of %s", f.Name, c.Kind)
			}
		}
	}
}
