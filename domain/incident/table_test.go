package incident_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// The table of every state × every input is kept in testdata/table.txt. A cell shows the
// newest incident after the input, "=" if nothing changed, and "new" before another
// incident. WRITE_TABLE=1 writes the file.

// moment is when the input of a cell comes.
const moment = 1000.0

var states = []struct {
	name   string
	inputs []incident.Input
}{
	{"none", nil},
	{"black for 40 s", []incident.Input{began(black, moment-40)}},
	{"black and silent", []incident.Input{began(black, moment-40), began(silent, moment-35)}},
	{"quiet for 30 s", []incident.Input{began(black, moment-100), ended(black, moment-30)}},
	{"quiet for 60 s", []incident.Input{began(black, moment-100), ended(black, moment-60)}},
	{"resolved 9 min ago", []incident.Input{began(black, moment-700), ended(black, moment-600), incident.Tick{}}},
	{"resolved 11 min ago", []incident.Input{began(black, moment-800), ended(black, moment-720), incident.Tick{}}},
	{"resolved by a person", []incident.Input{began(black, moment-100), ended(black, moment-50), incident.Resolve{By: "ann"}}},
	{"resolved by a person, still black", []incident.Input{began(black, moment-100), incident.Resolve{By: "ann"}}},
	{"acknowledged", []incident.Input{began(black, moment-40), incident.Acknowledge{By: "ann"}}},
	{"black for 400 s", []incident.Input{began(black, moment-400)}},
	{"late", []incident.Input{began(incident.Late, moment-400)}},
	{"no media", []incident.Input{began(incident.NoMedia, moment-90)}},
	{"blind", []incident.Input{began(incident.Blind, moment-320)}},
	{"error", []incident.Input{incident.MonitorEnded{At: at(moment - 20), Failed: true}}},
	{"error, resolved", []incident.Input{incident.MonitorEnded{At: at(moment - 20), Failed: true}, incident.Acknowledge{By: "ann"}}},
}

func tableInputs() (all []struct {
	name string
	in   incident.Input
}) {
	add := func(name string, in incident.Input) {
		all = append(all, struct {
			name string
			in   incident.Input
		}{name, in})
	}
	for _, name := range incident.Names() {
		if name != incident.Error { // MonitorEnded begins it
			add(string(name)+" begins", began(name, moment-30))
			add(string(name)+" ends", ended(name, moment-2))
		}
	}
	add("an end of an earlier outage comes late", incident.Ended{Condition: incident.NoMedia, StartedAt: at(10), EndedAt: at(50)})
	add("the monitor ends", incident.MonitorEnded{At: at(moment)})
	add("the monitor fails", incident.MonitorEnded{At: at(moment), Failed: true})
	add("a second passes", incident.Tick{})
	yes := true
	for _, name := range []incident.Name{black, incident.NoMedia, incident.Blind, incident.Late} {
		add("nothing of "+string(name)+" for 3 min", incident.Good{Condition: name, Since: at(moment - 180), At: at(moment)})
	}
	add("resolve", incident.Resolve{By: "bob"})
	add("acknowledge", incident.Acknowledge{By: "bob"})
	add("note", incident.Note{By: "bob", Text: "seen"})
	add("label", incident.Label{By: "bob", FalsePositive: &yes})
	add("a picture", incident.PictureAdded{Picture: incident.Picture{EvidenceID: "a"}})
	return all
}

func TestTheTableOfStatesAndInputs(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	const file = "testdata/table.txt"
	var text strings.Builder
	for _, s := range states {
		fmt.Fprintf(&text, "%s\n", s.name)
		for _, in := range tableInputs() {
			h := newHistory(t)
			for _, before := range s.inputs {
				h.step(moment, before)
			}
			count := len(h.all)
			cell := "="
			if h.step(moment, in.in) > 0 {
				cell = describe(h.newest())
				if i := h.newest(); i.Picture != nil {
					cell += " picture"
				}
				if len(h.all) > count {
					cell = "new " + cell
				}
			}
			fmt.Fprintf(&text, "    %-42s %s\n", in.name, cell)
		}
	}
	if os.Getenv("WRITE_TABLE") != "" {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, expected := strings.Split(text.String(), "\n"), strings.Split(string(want), "\n")
	for n := range min(len(got), len(expected)) {
		if got[n] != expected[n] {
			t.Errorf("%s:%d: got  %q\nwant %q", file, n+1, got[n], expected[n])
		}
	}
	if len(got) != len(expected) {
		t.Errorf("%d lines, want %d", len(got), len(expected))
	}
}
