package monitor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestLabelsAreShortTextsWithNames(t *testing.T) { // section 16.8
	many := monitor.Labels{}
	for n := range 17 {
		many[fmt.Sprint("label", n)] = "a"
	}
	most := maps.Clone(many)
	delete(most, "label0")
	for name, c := range map[string]struct {
		labels  monitor.Labels
		refused string // a word of the refusal; empty: none
	}{
		"none":                                  {nil, ""},
		"a team and a show":                     {monitor.Labels{"team": "a", "show": "morning"}, ""},
		"Japanese, spaces and signs":            {monitor.Labels{"show": "朝の番組　第2部: <A&B>"}, ""},
		"every sign of a name":                  {monitor.Labels{"a.b-c_9": "x"}, ""},
		"sixteen":                               {most, ""},
		"seventeen":                             {many, "labels has 17 labels; accepted are 16"},
		"the longest":                           {monitor.Labels{strings.Repeat("n", 63): strings.Repeat("配", 100)}, ""},
		"a name that is too long":               {monitor.Labels{strings.Repeat("n", 64): "x"}, "accepted are 1 to 63"},
		"no name":                               {monitor.Labels{"": "x"}, `labels has a label called ""`},
		"a name in capitals":                    {monitor.Labels{"Team": "x"}, `called "Team"`},
		"a Japanese name":                       {monitor.Labels{"番組": "x"}, `called "番組"`},
		"a name with a colon":                   {monitor.Labels{"team:a": "x"}, `called "team:a"`},
		"a name that begins with a digit":       {monitor.Labels{"1st": "x"}, `called "1st"`},
		"a value that is too long":              {monitor.Labels{"team": strings.Repeat("配", 101)}, "labels.team has 101 characters; accepted is 1 to 100"},
		"no value":                              {monitor.Labels{"team": ""}, "labels.team has 0 characters"},
		"spaces":                                {monitor.Labels{"team": "  "}, "labels.team is blank"},
		"a space at the end":                    {monitor.Labels{"team": "a "}, "labels.team begins or ends with a space"},
		"a wide space at the beginning":         {monitor.Labels{"team": "　a"}, "labels.team begins or ends with a space"},
		"two lines":                             {monitor.Labels{"team": "a\nb"}, "labels.team has line breaks"},
		"what the database does not store":      {monitor.Labels{"team": "a\x00b"}, "labels.team has control characters"},
		"what is no text, and what is too long": {monitor.Labels{"team": "\xff", "a": strings.Repeat("x", 101)}, "labels.team has control characters or invalid UTF-8"},
	} {
		err := monitor.Join(c.labels.Check("labels")...)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}

func TestAChangeOfLabelsKeepsTheOthers(t *testing.T) { // section 16.6
	before := monitor.Labels{"team": "a", "show": "morning"}
	after := before.With(map[string]*string{"team": new("b"), "show": nil, "site": new("<Tokyo>")})
	text, err := json.Marshal(map[string]any{"before": before, "after": after, "none": monitor.Labels(nil).With(nil), "zero": monitor.Labels(nil)})
	const want = `{"after":{"site":"\u003cTokyo\u003e","team":"b"},"before":{"show":"morning","team":"a"},"none":{},"zero":{}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
}
