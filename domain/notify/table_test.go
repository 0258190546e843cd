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

func tableTold() (all []struct {
	name string
	told notify.Notified
}) {
	add := func(name string, told notify.Notified) {
		all = append(all, struct {
			name string
			told notify.Notified
		}{name, told})
	}
	push := func(kind notify.MessageKind) notify.NextMessage { return notify.NextMessage{Kind: kind, Push: true} }
	s := situation(1, black)
	opened := notify.Notified{}.After(s, push(notify.Opened), at(0), "ref")
	taken := s
	taken.AcknowledgedBy, taken.AcknowledgedSeverity = "ann", 1
	end := resolved(s, 100)
	recovered := opened.After(end, notify.NextMessage{Kind: notify.Recovered}, at(100), "")
	again := s
	again.Reopened = 1
	add("nothing", notify.Notified{})
	add("opened", opened)
	add("acknowledged by ann", opened.After(taken, notify.NextMessage{Kind: notify.Acknowledged}, at(50), ""))
	add("recovered", recovered)
	add("reopened, the sound is owed", recovered.After(again, notify.NextMessage{Kind: notify.Reopened}, at(200), ""))
	return all
}

func tableSituations() (all []struct {
	name string
	s    notify.Situation
	p    notify.ThreadPolicy
}) {
	add := func(name string, change func(*notify.Situation, *notify.ThreadPolicy)) {
		s, p := situation(1, black), notify.ThreadPolicy{}
		change(&s, &p)
		all = append(all, struct {
			name string
			s    notify.Situation
			p    notify.ThreadPolicy
		}{name, s, p})
	}
	take := func(s *notify.Situation) { s.AcknowledgedBy, s.AcknowledgedSeverity = "ann", s.Severity }
	add("black", func(*notify.Situation, *notify.ThreadPolicy) {})
	add("black, with a picture", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.HasPicture = true })
	add("black, worse", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Severity, s.SeverityNow = 2, 2 })
	add("black and silent", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Conditions = []incident.Name{black, silent} })
	add("nothing lasts", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Conditions = nil })
	add("reopened", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Reopened = 1 })
	add("reopened by silent", func(s *notify.Situation, _ *notify.ThreadPolicy) {
		s.Reopened, s.Conditions = 1, []incident.Name{silent}
	})
	add("taken", func(s *notify.Situation, _ *notify.ThreadPolicy) { take(s) })
	add("taken, then worse", func(s *notify.Situation, _ *notify.ThreadPolicy) { take(s); s.Severity, s.SeverityNow = 2, 2 })
	add("taken, then silent, too", func(s *notify.Situation, _ *notify.ThreadPolicy) {
		take(s)
		s.Conditions, s.NewCondition = []incident.Name{black, silent}, true
	})
	add("reopened, then taken", func(s *notify.Situation, _ *notify.ThreadPolicy) { s.Reopened = 1; take(s) })
	add("resolved", func(s *notify.Situation, _ *notify.ThreadPolicy) { *s = resolved(*s, 250) })
	add("resolved, with a picture", func(s *notify.Situation, _ *notify.ThreadPolicy) { *s = resolved(*s, 250); s.HasPicture = true })
	add("black, silenced", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.SilencedUntil = at(2000) })
	add("worse, silenced for ever", func(s *notify.Situation, p *notify.ThreadPolicy) {
		s.Severity, s.SeverityNow = 2, 2
		p.SilencedUntil = notify.Forever
	})
	add("resolved, silenced", func(s *notify.Situation, p *notify.ThreadPolicy) { *s = resolved(*s, 250); p.SilencedUntil = at(2000) })
	add("black, on a delayed route", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.Delay = 10 * time.Minute })
	add("taken, on a delayed route", func(s *notify.Situation, p *notify.ThreadPolicy) { take(s); p.Delay = 10 * time.Minute })
	add("black, repeated", func(_ *notify.Situation, p *notify.ThreadPolicy) { p.Repeat = time.Minute })
	add("taken, repeated", func(s *notify.Situation, p *notify.ThreadPolicy) { take(s); p.Repeat = time.Minute })
	return all
}

func TestTheTableOfWhatIsKnownAndWhatIs(t *testing.T) {
	const file = "testdata/table.txt"
	var text strings.Builder
	for _, told := range tableTold() {
		fmt.Fprintf(&text, "%s\n", told.name)
		for _, ok := range tableSituations() {
			line := fmt.Sprintf("    %-27s", ok.name)
			for _, sec := range []float64{300, 900} {
				for _, edits := range []bool{true, false} {
					p := ok.p
					p.Edits = edits
					line += fmt.Sprintf(" %-13s", cell(notify.Next(at(sec), ok.s, told.told, p)))
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
