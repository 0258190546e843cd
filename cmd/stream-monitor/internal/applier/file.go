package applier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// File has the destinations, routes and silences that a file keeps.
type File struct {
	Owner        string // names the file: it keeps what has this owner
	Destinations []Destination
	Routes       []Route
	Silences     []Silence
}

// Destination is a destination of a file.
type Destination struct {
	Name     text            `json:"name"`
	Kind     text            `json:"kind"`
	Language text            `json:"language"`
	Config   map[string]text `json:"config"`
	Secrets  map[string]text `json:"secrets"`
	Fallback text            `json:"fallback"` // a name
	Enabled  *bool           `json:"enabled"`  // nil: it stays as it is
}

// Match is the match of a route or a silence.
type Match struct {
	Events      []text          `json:"events"`
	Conditions  []text          `json:"conditions"`
	MinSeverity int             `json:"min_severity"`
	Monitors    []text          `json:"monitors"`
	Metadata    map[string]text `json:"metadata"`
}

// Route is a route of a file. The default route has no name.
type Route struct {
	Name         text   `json:"name"`
	Default      bool   `json:"default"`
	Match        Match  `json:"match"`
	Destinations []text `json:"destinations"` // names
	DelaySec     int64  `json:"delay_sec"`
	RepeatSec    int64  `json:"repeat_sec"`
	Continue     bool   `json:"continue"`
}

// Silence is a silence of a file. Its comment tells it from the others.
type Silence struct {
	Comment text       `json:"comment"`
	Match   Match      `json:"match"`
	From    *time.Time `json:"from"`
	To      *time.Time `json:"to"`
	Window  *Window    `json:"window"`
	By      text       `json:"by"`
}

// Window is the window of a silence.
type Window struct {
	Weekdays []clock `json:"weekdays"`
	Start    clock   `json:"start"`
	End      clock   `json:"end"`
	Timezone clock   `json:"timezone"`
}

// text is a string, or a number or boolean as it is written.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		return json.Unmarshal(raw, (*string)(t))
	case '[', '{', 'n':
		return errors.New("accepted is text")
	}
	*t = text(raw)
	return nil
}

// clock is a string. YAML reads 02:00 without quotes as a number.
type clock string

// UnmarshalJSON implements json.Unmarshaler.
func (c *clock) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return errors.New("accepted is text; write it in quotes")
	}
	return json.Unmarshal(raw, (*string)(c))
}

// Problems are all errors of a file.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// Read reads a file and replaces the variables in its secrets. Errors: Problems.
func Read(raw []byte, lookup func(name string) (string, bool)) (File, error) {
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return File{}, Problems(strings.Split(strings.NewReplacer("yaml: ", "", "unmarshal errors:\n", "", "  ", "").Replace(err.Error()), "\n"))
	}
	var whole struct {
		Owner        text              `json:"owner"`
		Destinations []json.RawMessage `json:"destinations"`
		Routes       []json.RawMessage `json:"routes"`
		Silences     []json.RawMessage `json:"silences"`
	}
	var p Problems
	readObject(&p, "", asJSON, &whole)
	f := File{Owner: string(whole.Owner)}
	if f.Owner == "" {
		p = append(p, "owner is missing: it names the file, so that another one does not change what this one keeps")
	}
	for n, raw := range whole.Destinations {
		d := Destination{Language: text(notify.English)}
		readObject(&p, nameOf("destination", "name", n, raw)+": ", raw, &d)
		d.expand(&p, lookup)
		f.Destinations = append(f.Destinations, d)
	}
	for n, raw := range whole.Routes {
		var r Route
		readObject(&p, nameOf("route", "name", n, raw)+": ", raw, &r)
		f.Routes = append(f.Routes, r)
	}
	for n, raw := range whole.Silences {
		s := Silence{By: whole.Owner}
		readObject(&p, nameOf("silence", "comment", n, raw)+": ", raw, &s)
		f.Silences = append(f.Silences, s)
	}
	f.check(&p)
	if len(p) > 0 {
		slices.Sort(p)
		return f, slices.Compact(p)
	}
	return f, nil
}

// nameOf names an element of a list for an error: by its name, or its place from 1.
func nameOf(noun, field string, n int, raw []byte) string {
	var element map[string]json.RawMessage
	var name text
	if json.Unmarshal(raw, &element) == nil && len(element[field]) > 0 && json.Unmarshal(element[field], &name) == nil && name != "" {
		return fmt.Sprintf("%s %q", noun, string(name))
	}
	return fmt.Sprintf("%s %d", noun, n+1)
}

// variable matches ${NAME} in a secret.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces the variables in the secrets. A missing or empty one is a problem, whose
// text names the variable.
func (d *Destination) expand(p *Problems, lookup func(string) (string, bool)) {
	for _, name := range slices.Sorted(maps.Keys(d.Secrets)) {
		d.Secrets[name] = text(variable.ReplaceAllStringFunc(string(d.Secrets[name]), func(found string) string {
			wanted := variable.FindStringSubmatch(found)[1]
			value, is := lookup(wanted)
			if !is || value == "" {
				*p = append(*p, fmt.Sprintf("destination %q: secrets.%s: the environment has no %s", string(d.Name), name, wanted))
				return "missing"
			}
			return value
		}))
	}
}

// readObject reads a JSON object into v, a pointer to a struct. It adds a problem for each
// field that is unknown or of another type. null is as good as missing.
func readObject(p *Problems, prefix string, raw []byte, v any) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		*p = append(*p, prefix+"accepted are fields with values")
		return
	}
	fields := fieldsOf(v)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		into, known := fields[name]
		switch {
		case !known:
			*p = append(*p, fmt.Sprintf("%s%s is not a field; accepted are %s", prefix, name, strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
		case string(given[name]) == "null":
		default:
			readField(p, prefix+name, given[name], into)
		}
	}
}

// readField reads the value of one field.
func readField(p *Problems, name string, raw []byte, into any) {
	switch into := into.(type) {
	case *Match:
		readObject(p, name+".", raw, into)
		return
	case **Window:
		*into = &Window{}
		readObject(p, name+".", raw, *into)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(into); err != nil {
		*p = append(*p, fmt.Sprintf("%s: %s", name, explain(into, err)))
	}
}

// explain says what is accepted, without the value: it may be a secret.
func explain(into any, err error) string {
	switch into.(type) {
	case *text, *clock, *[]clock:
		return err.Error()
	case *bool, **bool:
		return "accepted are true and false"
	case *int, *int64:
		return "accepted is a whole number"
	case **time.Time:
		return `accepted is a time with an offset, such as "2026-01-15T20:00:00+09:00"`
	case *[]text:
		return "accepted is a list of texts"
	case *map[string]text:
		return "accepted are fields whose values are texts"
	}
	return "accepted is a list"
}
