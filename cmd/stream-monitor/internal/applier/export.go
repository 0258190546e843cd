package applier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Export writes the file of what the gateway has, but for what other files keep (section 19.8). Applied to the same gateway, it
// changes nothing; what no file keeps, it then adopts. It has no secret: those stay as they are. It names on messages
// what it leaves out. Errors: a call failed, or out.
func Export(ctx context.Context, gateway Gateway, owner string, out, messages io.Writer) error {
	e := &exporter{owner: owner, left: map[string]int{}}
	if err := e.current.read(ctx, patient{gateway, messages}, ""); err != nil {
		return err
	}
	e.add(0, nil, optional("owner", owner))
	e.destinations()
	e.routes()
	e.duty()
	e.silences()
	e.channels()
	e.monitors()
	if e.err != nil {
		return e.err
	}
	if _, err := out.Write(e.text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintln(messages, "secrets are not exported: they stay as they are where the file is applied to this gateway, and have to be added for another one")
	for _, what := range slices.Sorted(maps.Keys(e.left)) {
		fmt.Fprintf(messages, "left out: %d %s\n", e.left[what], what)
	}
	return nil
}

// exporter writes a file.
type exporter struct {
	owner   string
	current currentState
	text    bytes.Buffer
	left    map[string]int // what is left out, and how many
	err     error          // the first
}

// yamlField is a field of an element. Unless it is said always, a value that is nil, false, 0, or has no content is left out.
type yamlField struct {
	name   string
	value  any
	always bool
}

func optional(name string, value any) yamlField { return yamlField{name: name, value: value} }

// add writes an element of a list, or with indent 0 the fields of the file. comments come before it.
func (e *exporter) add(indent int, comments []string, all ...yamlField) {
	lead := strings.Repeat(" ", indent)
	for _, c := range comments {
		fmt.Fprintf(&e.text, "%s# %s\n", lead, c)
	}
	first := indent > 0
	for _, f := range all {
		raw, err := json.Marshal(f.value)
		if err != nil {
			e.err = err
			return
		}
		if slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, string(raw)) && !f.always {
			continue
		}
		written, err := yaml.Marshal(map[string]json.RawMessage{f.name: raw})
		if err != nil {
			e.err = err
			return
		}
		for line := range strings.Lines(string(written)) {
			start := lead
			if indent > 0 {
				start += "  "
			}
			if first {
				start, first = lead+"- ", false
			}
			e.text.WriteString(start + line)
		}
	}
}

// beginList begins a list. It does so with its first element, so that none is empty.
func (e *exporter) beginList(name string, n int) {
	if n == 0 {
		fmt.Fprintf(&e.text, "\n%s:\n", name)
	}
}

// owns reports whether something with an owner belongs in the file.
func (e *exporter) owns(owner, what string) bool {
	if owner != "" && owner != e.owner {
		e.left[what+" that other files keep"]++
		return false
	}
	return true
}

// nameOf returns the name of a destination.
func (e *exporter) nameOf(id string) string {
	if d := find(e.current.destinations, func(d destination) bool { return d.ID == id }); d != nil {
		return d.Name
	}
	return ""
}

func (e *exporter) destinations() {
	n := 0
	for _, d := range e.current.destinations {
		if !e.owns(d.Owner, "destinations") {
			continue
		}
		kept, language := map[string]*string{}, d.Language
		for _, name := range d.Secrets {
			if name != "previous_signing_key" {
				kept[name] = nil
			}
		}
		if language == notify.English {
			language = ""
		}
		e.beginList("destinations", n)
		n++
		e.add(2, nil, optional("name", d.Name), optional("kind", d.Kind), optional("language", language), optional("config", d.Config),
			optional("secrets", kept), optional("fallback", e.nameOf(d.Fallback)), yamlField{"enabled", false, !d.Enabled})
	}
}

func (e *exporter) routes() {
	n := 0
	for _, r := range e.current.routes {
		if r.Default && len(r.Destinations) == 0 && !r.OnDuty || !e.owns(r.Owner, "routes") {
			continue
		}
		var names []string
		for _, id := range r.Destinations {
			names = append(names, e.nameOf(id))
		}
		name := r.Name
		if r.Default {
			name = ""
		}
		e.beginList("routes", n)
		n++
		e.add(2, nil, optional("name", name), optional("default", r.Default), optional("match", matchOf(r.Match)), optional("windows", windowsOf(r.Windows)),
			optional("destinations", names), optional("on_duty", r.OnDuty), optional("delay_sec", r.DelaySec), optional("repeat_sec", r.RepeatSec), optional("continue", r.Continue))
	}
}

// matchOf returns the criteria of a match that are given.
func matchOf(m notify.Match) map[string]any {
	raw, err := json.Marshal(m)
	var all map[string]any
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	maps.DeleteFunc(all, func(_ string, value any) bool {
		list, isList := value.([]any)
		object, isObject := value.(map[string]any)
		return isList && len(list) == 0 || isObject && len(object) == 0 || value == 0.0 || value == nil
	})
	if m.MaxSeverity != nil {
		all["max_severity"] = *m.MaxSeverity
	}
	return all
}

// windowsOf returns windows without what is empty.
func windowsOf(all []notify.Window) (windows []map[string]any) {
	for _, w := range all {
		window := map[string]any{"start": w.Start, "end": w.End, "timezone": w.Timezone}
		if len(w.Weekdays) > 0 {
			window["weekdays"] = w.Weekdays
		}
		windows = append(windows, window)
	}
	return windows
}

func (e *exporter) duty() {
	if len(e.current.duty.Overrides) > 0 {
		e.left["overrides of duty"] = len(e.current.duty.Overrides)
	}
	n := 0
	for _, person := range e.current.duty.People {
		if !e.owns(e.current.duty.Owner, "people of duty") || person.DestinationID == "" {
			continue
		}
		e.beginList("duty", n)
		n++
		e.add(2, nil, optional("name", person.Name), optional("destination", e.nameOf(person.DestinationID)), optional("windows", windowsOf(person.Windows)))
	}
}

func (e *exporter) silences() {
	n := 0
	seen := map[string]bool{}
	for _, s := range e.current.silences {
		switch {
		case s.State == ended, !e.owns(s.Owner, "silences"):
			continue
		case s.Comment == "" || seen[s.Comment] || s.UntilRecovered:
			e.left["silences without a comment of their own, or until a recovery"]++
			continue
		}
		seen[s.Comment] = true
		var window any
		if s.Window != nil {
			window = windowsOf([]notify.Window{*s.Window})[0]
		}
		var to any
		if !s.EndsAt.IsZero() {
			to = s.EndsAt
		}
		e.beginList("silences", n)
		n++
		e.add(2, nil, optional("comment", s.Comment), optional("match", matchOf(s.Match)), optional("from", s.StartsAt), optional("to", to), optional("window", window), optional("by", s.CreatedBy))
	}
}

func (e *exporter) channels() {
	n := 0
	for _, w := range e.inOrder(listOfChannels) {
		e.beginList("channels", n)
		n++
		config, comments := configOf(w)
		e.add(2, comments, optional("channel", w.URL), callbackOf(w), optional("cookie_jar", w.CookieJar), optional("config", config), optional("labels", w.Labels), optional("metadata", w.Metadata))
	}
}

func (e *exporter) monitors() {
	n := 0
	for _, w := range e.inOrder(listOfMonitors) {
		if w.ChannelID != "" && w.Owner == "" {
			e.left["monitors that their channels register"]++
			continue
		}
		e.beginList("monitors", n)
		n++
		config, comments := configOf(w)
		e.add(2, comments, optional("stream_url", w.URL), callbackOf(w), optional("config", config), optional("labels", w.Labels), optional("metadata", w.Metadata))
	}
}

// inOrder returns what belongs in the file, in the order of registration.
func (e *exporter) inOrder(list watchedList) (all []watched) {
	for _, w := range slices.Backward(e.current.watched[list.name]) {
		if e.owns(w.Owner, list.name) {
			all = append(all, w)
		}
	}
	return all
}

// callbackOf returns the callback of what has none: null. One is secret, and stays.
func callbackOf(w watched) yamlField {
	if w.HasCallback {
		return yamlField{}
	}
	return yamlField{"callback_url", nil, true}
}

// configOf returns the fields of a configuration that differ from the defaults, or from those of its preset. Secrets are there as
// answers have them: null as a header field, "set" as a token URL. Other secrets are comments.
func configOf(w watched) (config map[string]json.RawMessage, comments []string) {
	var c monitor.Config
	if json.Unmarshal(w.Config, &config) != nil || json.Unmarshal(w.Config, &c) != nil {
		return nil, []string{"its configuration cannot be read, and is left out"}
	}
	if w.HasCallback {
		comments = []string{"callback_url is secret, and stays as it is"}
	}
	usual := monitor.DefaultConfig()
	if preset, err := monitor.FindPreset(c.Preset); err == nil && c.Preset != "" {
		preset.Apply(&usual)
	}
	var defaults map[string]json.RawMessage
	if raw, err := json.Marshal(usual); err != nil || json.Unmarshal(raw, &defaults) != nil {
		return config, comments
	}
	delete(defaults, "preset")
	maps.DeleteFunc(config, func(name string, value json.RawMessage) bool {
		return bytes.Equal(value, defaults[name]) || string(value) == "null"
	})
	return config, comments
}
