package monitor

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is a field of a registration that a change sets to another value.
type Difference struct {
	Field string `json:"field"` // as requests name it, such as config.blackout_threshold_sec or labels.team
	From  any    `json:"from"`  // as answers have it; null: none. Of what is secret, both are null
	To    any    `json:"to"`
}

// String writes a difference as one phrase, such as "labels.team a → b".
func (d Difference) String() string {
	if d.From == nil && d.To == nil {
		return d.Field
	}
	return d.Field + " " + shortly(d.From) + " → " + shortly(d.To)
}

func shortly(v any) string {
	if text, is := v.(string); is && text != "" && !strings.ContainsAny(text, " ,→\n") {
		return text
	}
	if v == nil {
		return "none"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

// Differences compares how two states of a monitor are registered.
func Differences(before, after Monitor) (all []Difference) {
	secret := func(field string, differs bool) {
		if differs {
			all = append(all, Difference{Field: field})
		}
	}
	secret("stream_url", before.StreamSecret.Query != after.StreamSecret.Query)
	secret("callback_url", before.CallbackURL != after.CallbackURL)
	all = compare(all, "config", valuesOf(before.Config.inUTC()), valuesOf(after.Config.inUTC()))
	secret("config.http_headers", before.Config.HeaderNames != after.Config.HeaderNames || !maps.Equal(before.StreamSecret.Headers, after.StreamSecret.Headers))
	secret("config.token_url", before.Config.HasTokenURL == after.Config.HasTokenURL && before.StreamSecret.TokenURL != after.StreamSecret.TokenURL)
	if before.Owner != after.Owner {
		all = append(all, DifferenceOf("owner", before.Owner, after.Owner))
	}
	all = compare(all, "labels", valuesOf(before.Labels), valuesOf(after.Labels))
	return compare(all, "metadata", valuesOf(before.Metadata), valuesOf(after.Metadata))
}

// inUTC returns the configuration with its times in UTC, so that equal ones are written alike.
func (c Config) inUTC() Config {
	for _, t := range []**time.Time{&c.ScheduledStartTime, &c.ScheduledEndTime} {
		if *t != nil {
			*t = new((*t).UTC())
		}
	}
	return c
}

// valuesOf returns the fields of what is written as a JSON object.
func valuesOf(v any) (fields map[string]any) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		return nil // it has no fields that could be compared
	}
	return fields
}

// DifferenceOf is the difference of a field that is a text; an empty one is null.
func DifferenceOf(field, before, after string) Difference {
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	return Difference{field, orNull(before), orNull(after)}
}

// compare adds the differences of two objects. null is as good as missing, and an object as good as its fields.
func compare(all []Difference, path string, before, after map[string]any) []Difference {
	fields := maps.Clone(before)
	if fields == nil {
		fields = map[string]any{}
	}
	maps.Copy(fields, after)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		from, to := before[name], after[name]
		object, was := from.(map[string]any)
		changed, is := to.(map[string]any)
		switch field := path + "." + name; {
		case was && is, from == nil && len(changed) > 0, to == nil && len(object) > 0:
			all = compare(all, field, object, changed)
		case !same(from, to):
			all = append(all, Difference{field, from, to})
		}
	}
	return all
}

func same(a, b any) bool {
	first, err := json.Marshal(a)
	second, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(first, second)
}
