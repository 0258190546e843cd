package docgen_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const notifications = "../../../docs/operations/notifications.md"

// fields matches the table of fields in the document.
var fields = regexp.MustCompile(`(?s)\| kind \| field \|.*?\n\n`)

func TestThePageHasTheFieldsOfDestinations(t *testing.T) {
	var table strings.Builder
	table.WriteString("| kind | field | where to find it |\n|---|---|---|\n")
	for _, c := range notify.Channels() {
		kind := fmt.Sprintf("`%s`", c.Kind)
		for _, f := range c.Fields {
			name, words := fmt.Sprintf("`%s`", f.Name), f.Words.English
			if f.Secret {
				name += " (secret)"
			}
			if !f.Required {
				name += ", optional"
			}
			fmt.Fprintf(&table, "| %s | %s | %s. %s |\n", kind, name, words.Label, words.Hint)
			kind = ""
		}
	}
	is := string(must.Get(os.ReadFile(notifications))(t))
	made := fields.ReplaceAllLiteralString(is, table.String()+"\n")
	if os.Getenv("WRITE_DOCS") != "" {
		must.Do(t, os.WriteFile(notifications, []byte(made), 0o644))
	} else if is != made || !strings.Contains(is, table.String()) {
		t.Errorf("%s has not the fields of notify.Channels: WRITE_DOCS=1 go test ./test/suite/docgen", notifications)
	}
}
