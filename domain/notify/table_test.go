package notify_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The table of what a destination knows × what the situation is, is kept in
// testdata/table.txt. A cell shows the next message, "!" if it makes a sound, or until when
// nothing is sent, in seconds; "=" if only a change makes something due. It has four
// columns: a channel that edits and one that does not, each 5 min and 15 min after the
// newest sound. WRITE_TABLE=1 writes the file.

// known is what a destination knows: a row of the table.
type known struct {
	name string
	told notify.Notified
}

func tableKnown() []known {
	s := situation(1, black)
	opened := notify.Notified{}.After(s, notify.NextMessage{Kind: notify.Opened, Push: true}, at(0), "ref")
	taken, again := s, s
	taken.AcknowledgedBy, taken.AcknowledgedSeverity = "ann", 1
	again.Reopened = 1
	recovered := opened.After(resolved(s, 100), notify.NextMessage{Kind: notify.Recovered}, at(100), "")
	return []known{
		{"nothing", notify.Notified{}},
		{"opened", opened},
		{"acknowledged by ann", opened.After(taken, notify.NextMessage{Kind: notify.Acknowledged}, at(50), "")},
		{"recovered", recovered},
		{"reopened, the sound is owed", recovered.After(again, notify.NextMessage{Kind: notify.Reopened}, at(200), "")},
	}
}

// tableSituations are the changes of black of severity 1, and of a policy without anything, that make the columns.
var tableSituations = []struct {
	name   string
	change func(*notify.Situation, *notify.ThreadPolicy)
}{
	{"black", func(*notify.Situation, *notify.ThreadPolicy) {}},
	{"black, with a picture", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.HasPicture = true }},
	{"black, worse", func(s *notify.Situation, _ *notify.ThreadPolicy) { rise(s) }},
	{"black and silent", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Conditions = []incident.Name{black, silent} }},
	{"nothing lasts", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Conditions = nil }},
	{"reopened", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Reopened = 1 }},
	{"reopened by silent", func(s *notify.Situation, _ *notify.ThreadPolicy) {
		s.Reopened, s.Conditions = 1, []incident.Name{silent}
	}},
	{"taken", func(s *notify.Situation, _ *notify.ThreadPolicy) { take(s) }},
	{"taken, then worse", func(s *notify.Situation, _ *notify.ThreadPolicy) { take(s); rise(s) }},
	{"taken, then silent, too", func(s *notify.Situation, _ *notify.ThreadPolicy) {
		take(s)
		s.Conditions, s.NewCondition = []incident.Name{black, silent}, true
	}},
	{"reopened, then taken", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Reopened = 1; take(s) }},
	{"resolved", func(s *notify.Situation, _ *notify.ThreadPolicy) { *s = resolved(*s, 250) }},
	{"resolved, with a picture", func(s *notify.Situation, _ *notify.ThreadPolicy) { *s = resolved(*s, 250); s.HasPicture = true }},
	{"black, silenced", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.SilencedUntil = at(2000) }},
	{"worse, silenced for ever", func(s *notify.Situation, p *notify.ThreadPolicy) { rise(s); p.SilencedUntil = notify.Forever }},
	{"resolved, silenced", func(s *notify.Situation, p *notify.ThreadPolicy) { *s = resolved(*s, 250); p.SilencedUntil = at(2000) }},
	{"black, on a delayed route", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.Delay = 10 * time.Minute }},
	{"taken, on a delayed route", func(s *notify.Situation, p *notify.ThreadPolicy) { take(s); p.Delay = 10 * time.Minute }},
	{"black, repeated", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.Repeat = time.Minute }},
	{"taken, repeated", func(s *notify.Situation, p *notify.ThreadPolicy) { take(s); p.Repeat = time.Minute }},
}

func take(s *notify.Situation) { s.AcknowledgedBy, s.AcknowledgedSeverity = "ann", s.Severity }
func rise(s *notify.Situation) { s.Severity, s.SeverityNow = 2, 2 }

func TestTheTableOfWhatIsKnownAndWhatIs(t *testing.T) {
	const file = "testdata/table.txt"
	var text strings.Builder
	for _, k := range tableKnown() {
		fmt.Fprintf(&text, "%s\n", k.name)
		for _, is := range tableSituations {
			s, p := situation(1, black), notify.ThreadPolicy{}
			is.change(&s, &p)
			line := fmt.Sprintf("    %-27s", is.name)
			for _, sec := range []float64{300, 900} {
				for _, edits := range []bool{true, false} {
					p.Edits = edits
					line += fmt.Sprintf(" %-13s", cell(notify.Next(at(sec), s, k.told, p)))
				}
			}
			fmt.Fprintln(&text, strings.TrimRight(line, " "))
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

func cell(step notify.NextMessage) string {
	switch {
	case step.Push:
		return string(step.Kind) + "!"
	case step.Kind != "":
		return string(step.Kind)
	case step.At.IsZero():
		return "="
	}
	return fmt.Sprintf("at %.0f", step.At.Sub(eight).Seconds())
}

func situation(severity int, conditions ...incident.Name) notify.Situation {
	return notify.Situation{Open: true, Severity: severity, SeverityNow: severity, OpenedAt: eight, Conditions: conditions}
}

func resolved(s notify.Situation, sec float64) notify.Situation {
	s.Open, s.ResolvedAt, s.Conditions = false, at(sec), nil
	return s
}

func TestAFirstMessageIsSentAtOnceAndItsEndQuietly(t *testing.T) {
	s, p := situation(1, black), notify.ThreadPolicy{Edits: true}
	step := notify.Next(at(0), s, notify.Notified{}, p)
	if step != (notify.NextMessage{Kind: notify.Opened, Push: true}) {
		t.Fatalf("first %+v", step)
	}
	told := notify.Notified{}.After(s, step, at(1), "ts-1")
	if step := notify.Next(at(2), s, told, p); step != (notify.NextMessage{}) {
		t.Errorf("then %+v", step)
	}
	s = resolved(s, 100)
	p.SilencedUntil = notify.Forever
	step = notify.Next(at(100), s, told, p)
	if step != (notify.NextMessage{Kind: notify.Recovered}) {
		t.Errorf("in the end %+v", step)
	}
	told = told.After(s, step, at(101), "")
	if told.ProviderMessageID != "ts-1" || told.Open || notify.Next(at(102), s, told, p) != (notify.NextMessage{}) {
		t.Errorf("afterwards %+v", told)
	}
}

// A message of a reopening that got no answer may have been seen.
func TestTheEndOfAReopeningThatGotNoAnswerIsTold(t *testing.T) {
	at := func(sec int) time.Time { return time.Date(2026, 11, 28, 20, 0, sec, 0, time.UTC) }
	policy := notify.ThreadPolicy{}
	open := notify.Situation{Open: true, SeverityNow: 1, Severity: 1, Conditions: []incident.Name{"black"}, OpenedAt: at(0), BeganAt: at(0)}
	over := notify.Situation{OpenedAt: at(0), BeganAt: at(0), ResolvedAt: at(10)}
	told := notify.Notified{}.After(open, notify.NextMessage{Kind: notify.Opened, Push: true}, at(1), "").After(over, notify.NextMessage{Kind: notify.Recovered}, at(10), "")
	again := open
	again.Reopened, again.BeganAt = 1, at(700)
	step := notify.Next(at(700), again, told, policy)
	if step.Kind != notify.Reopened {
		t.Fatalf("the reopening is %+v", step)
	}
	over.Reopened = 1
	if next := notify.Next(at(720), over, told, policy); next.Kind != "" {
		t.Errorf("after a reopening that was never tried comes %+v", next)
	}
	unanswered := told.Unanswered(step)
	if next := notify.Next(at(720), over, unanswered, policy); next.Kind != notify.Recovered || next.Push {
		t.Errorf("after one without an answer comes %+v", next)
	}
	if next := notify.Next(at(730), over, unanswered.After(over, notify.NextMessage{Kind: notify.Recovered}, at(720), ""), policy); next.Kind != "" {
		t.Errorf("after its end comes %+v", next)
	}
}
