package applier

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// File has the destinations, routes, silences and the weekly plan of duty that a file keeps.
type File struct {
	Owner        string // names the file: it keeps what has this owner
	Destinations []Destination
	Routes       []notify.Route   // Destinations are names. The default route has no name
	Silences     []notify.Silence // a comment tells a silence from the others
	Duty         *[]notify.Person // the weekly plan; DestinationID is a name. nil: the file keeps none

	Registrations map[string][]Registration // monitors and channels, by the name of their list
}

// Destination is a destination of a file. Its Fallback is a name.
type Destination struct {
	notify.Destination

	Enabled *bool    // nil: it stays as it is
	Kept    []string // names of secrets that stay as they are
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

// secrets are texts by name; null keeps what is stored.
type secrets struct{ into *Destination }

// UnmarshalJSON implements json.Unmarshaler.
func (s *secrets) UnmarshalJSON(raw []byte) error {
	var all map[string]*text
	if json.Unmarshal(raw, &all) != nil {
		return errors.New("accepted are fields whose values are texts, or null for one that stays as it is")
	}
	s.into.Secrets = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil {
			s.into.Kept = append(s.into.Kept, name)
			continue
		}
		s.into.Secrets[name] = string(*all[name])
	}
	return nil
}

// textList is a list of texts.
type textList[T ~string] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *textList[T]) UnmarshalJSON(raw []byte) error {
	var all []text
	if json.Unmarshal(raw, &all) != nil {
		return errors.New("accepted is a list of texts")
	}
	for _, t := range all {
		*l = append(*l, T(t))
	}
	return nil
}

// texts are texts by name.
type texts map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *texts) UnmarshalJSON(raw []byte) error {
	var all map[string]text
	if json.Unmarshal(raw, &all) != nil {
		return errors.New("accepted are fields whose values are texts")
	}
	*m = texts{}
	for name, t := range all {
		(*m)[name] = string(t)
	}
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

// knownFields are the fields that an object may have, by name, and where their values go.
type knownFields map[string]any

func fieldsOfMatch(m *notify.Match) knownFields {
	return knownFields{
		"events": (*textList[event.Type])(&m.Events), "conditions": (*textList[incident.Name])(&m.Conditions), "min_severity": &m.MinSeverity,
		"max_severity": &m.MaxSeverity, "monitors": (*textList[monitor.ID])(&m.Monitors), "metadata": (*texts)(&m.Metadata), "labels": (*texts)(&m.Labels),
		"hints": (*textList[monitor.HintKind])(&m.Hints),
	}
}

func fieldsOfWindow(w *notify.Window) knownFields {
	return knownFields{"weekdays": (*textList[string])(&w.Weekdays), "start": (*clock)(&w.Start), "end": (*clock)(&w.End), "timezone": (*clock)(&w.Timezone)}
}

func readWindows(p *Problems, prefix string, all []json.RawMessage) (windows []notify.Window) {
	for n, raw := range all {
		w := notify.Window{Weekdays: []string{}}
		readObject(p, fmt.Sprintf("%swindows[%d].", prefix, n), raw, fieldsOfWindow(&w))
		windows = append(windows, w)
	}
	return windows
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
	var p Problems
	var f File
	var destinations, routes, silences, people, monitors, channels []json.RawMessage
	given := readObject(&p, "", asJSON, knownFields{
		"owner": (*text)(&f.Owner), "destinations": &destinations, "routes": &routes, "silences": &silences, "duty": &people, "monitors": &monitors, "channels": &channels,
	})
	if f.Owner == "" {
		p = append(p, "owner is missing: it names the file, so that another one does not change what this one keeps")
	}
	for n, raw := range destinations {
		d := Destination{Destination: notify.Destination{Language: notify.English}}
		readObject(&p, nameOf("destination", "name", n, raw)+": ", raw, knownFields{
			"name": (*text)(&d.Name), "kind": (*text)(&d.Kind), "language": (*text)(&d.Language), "config": (*texts)(&d.Config),
			"secrets": &secrets{&d}, "fallback": (*text)(&d.Fallback), "enabled": &d.Enabled,
		})
		for _, secret := range slices.Sorted(maps.Keys(d.Secrets)) {
			d.Secrets[secret] = expand(&p, fmt.Sprintf("destination %q: secrets.%s", d.Name, secret), d.Secrets[secret], lookup)
		}
		f.Destinations = append(f.Destinations, d)
	}
	for n, raw := range routes {
		var r notify.Route
		var windows []json.RawMessage
		name := nameOf("route", "name", n, raw) + ": "
		readObject(&p, name, raw, knownFields{
			"name": (*text)(&r.Name), "default": &r.Default, "match": fieldsOfMatch(&r.Match), "destinations": (*textList[string])(&r.Destinations),
			"delay_sec": &r.DelaySec, "repeat_sec": &r.RepeatSec, "continue": &r.Continue, "windows": &windows, "on_duty": &r.OnDuty,
		})
		r.Windows = readWindows(&p, name, windows)
		f.Routes = append(f.Routes, r)
	}
	for n, raw := range silences {
		w := notify.Window{Weekdays: []string{}}
		s := notify.Silence{CreatedBy: f.Owner}
		given := readObject(&p, nameOf("silence", "comment", n, raw)+": ", raw, knownFields{
			"comment": (*text)(&s.Comment), "match": fieldsOfMatch(&s.Match), "from": &s.StartsAt, "to": &s.EndsAt, "by": (*text)(&s.CreatedBy),
			"window": fieldsOfWindow(&w),
		})
		if slices.Contains(given, "window") {
			s.Window = &w
		}
		f.Silences = append(f.Silences, s)
	}
	if slices.Contains(given, "duty") {
		f.Duty = readPeople(&p, people)
	}
	f.Registrations = map[string][]Registration{
		listOfChannels.name: readRegistrations(&p, listOfChannels, channels, lookup), listOfMonitors.name: readRegistrations(&p, listOfMonitors, monitors, lookup),
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

// variable matches ${NAME} in a text.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces the variables in a text. A missing or empty one is a problem, whose text names the variable.
func expand(p *Problems, field, text string, lookup func(string) (string, bool)) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		wanted := variable.FindStringSubmatch(found)[1]
		value, is := lookup(wanted)
		if !is || value == "" {
			*p = append(*p, fmt.Sprintf("%s: the environment has no %s", field, wanted))
			return "missing"
		}
		return value
	})
}

// readObject reads the fields of a JSON object, and names those that have a value. It adds a
// problem for each field that is unknown or of another type. null is as good as missing.
func readObject(p *Problems, prefix string, raw []byte, known knownFields) (given []string) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		*p = append(*p, prefix+"accepted are fields with values")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		into, is := known[name]
		switch {
		case !is:
			*p = append(*p, fmt.Sprintf("%s%s is not a field; accepted are %s", prefix, name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		case string(object[name]) == "null":
			continue
		}
		given = append(given, name)
		if inner, is := into.(knownFields); is {
			readObject(p, prefix+name+".", object[name], inner)
		} else if err := json.Unmarshal(object[name], into); err != nil {
			*p = append(*p, fmt.Sprintf("%s%s: %s", prefix, name, explain(into, err)))
		}
	}
	return given
}

// explain says what is accepted, without the value: it may be a secret.
func explain(into any, err error) string {
	switch into.(type) {
	case *bool, **bool:
		return "accepted are true and false"
	case *int, *int64, **int:
		return "accepted is a whole number"
	case *time.Time:
		return `accepted is a time with an offset, such as "2026-01-15T20:00:00+09:00"`
	case *[]json.RawMessage:
		return "accepted is a list"
	}
	return err.Error()
}
