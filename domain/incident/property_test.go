package incident_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// anyInput draws an input around the time sec.
func anyInput(r *rapid.T, sec float64) incident.Input {
	name := rapid.SampledFrom(incident.Names()).Draw(r, "condition")
	ago := rapid.SampledFrom([]float64{-100, 0, 0, 1, 30, 70, 400, 4000}).Draw(r, "seconds ago")
	switch rapid.IntRange(0, 12).Draw(r, "input") {
	case 0, 1, 2:
		if name == incident.Error {
			return incident.Tick{}
		}
		return incident.Began{Condition: name, StartedAt: at(sec - ago), At: at(sec), MayRepeat: rapid.Bool().Draw(r, "repeats"), Alert: &incident.Alert{EventID: "e"}}
	case 3, 4:
		return ended(name, sec-ago)
	case 5:
		return incident.Acknowledge{By: "ann"}
	case 6:
		return incident.PictureAdded{Picture: incident.Picture{EvidenceID: "a", Condition: name, TakenAt: at(sec)}}
	case 7:
		yes := rapid.Bool().Draw(r, "false positive")
		return incident.Label{By: "bob", FalsePositive: &yes}
	case 8:
		return incident.Resolve{By: "ann"}
	case 11:
		return incident.Ask{CoolDown: time.Minute}
	case 12:
		return incident.Answered{EventID: "e", Opinion: incident.ReadOpinion(200, []byte(`{"opinion":"drop"}`))}
	case 9:
		return incident.Good{Condition: name, Since: at(sec - ago), At: at(sec)}
	}
	return incident.Tick{}
}

func open(all []*incident.Incident) (n int) {
	for _, i := range all {
		if i.State == incident.Open {
			n++
		}
	}
	return n
}

func TestWhateverHappensEveryIncidentIsResolved(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t)
		sec, severity, count := 0.0, 0, 0
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			sec += rapid.SampledFrom([]float64{0, 1, 20, 61, 300, 700, 5000}).Draw(r, "pause")
			if rapid.Bool().Draw(r, "swept") {
				h.sweep(sec)
			}
			in := anyInput(r, sec)
			h.step(sec, in)
			before, _ := json.Marshal(h.all)
			switch in.(type) {
			case incident.Acknowledge, incident.Resolve, incident.Label, incident.Note: // these add a line of the log each time
			default:
				if h.step(sec, in) != 0 {
					after, _ := json.Marshal(h.all)
					r.Fatalf("%#v, applied twice, made\n%s of\n%s", in, after, before)
				}
			}
			if open(h.all) > 1 {
				r.Fatalf("%d incidents are open", open(h.all))
			}
			if len(h.all) == 0 {
				continue
			}
			i := h.newest()
			if len(h.all) == count && i.Severity < severity {
				r.Fatalf("severity fell from %d to %d", severity, i.Severity)
			}
			severity, count = i.Severity, len(h.all)
			checkIncident(r, i, sec)
			for _, old := range h.all[:count-1] {
				if old.Lasts() || !old.DueAt().IsZero() {
					r.Fatalf("%s is not the newest", describe(old))
				}
			}
		}
		end := incident.MonitorEnded{At: at(sec), Failed: rapid.Bool().Draw(r, "failed")}
		h.step(sec, end)
		h.step(sec, end)
		h.sweep(sec + (25 * time.Hour).Seconds())
		if open(h.all) != 0 {
			r.Fatalf("after the end of the monitor %s is left", describe(h.newest()))
		}
	})
}

// checkIncident checks what holds of every incident at any time.
func checkIncident(r *rapid.T, i *incident.Incident, sec float64) {
	lasting := false
	for _, c := range i.Conditions {
		lasting = lasting || c.Lasts()
		if c.Count < 1 || c.LastStartedAt.After(at(sec)) || !c.Lasts() && c.EndedAt.Before(c.LastStartedAt) || i.StartedAt.After(c.StartedAt) {
			r.Fatalf("condition %+v of %+v", c, i)
		}
		checkSpans(r, c)
	}
	switch {
	case i.State == incident.Resolved && (i.ResolvedAt.IsZero() || i.ResolvedAt.Before(i.OpenedAt) && !i.ResolvedAt.Equal(i.OpenedAt) || i.ResolvedAt.After(at(sec)) || lasting == i.DueAt().IsZero()):
		r.Fatalf("resolved: %+v, due %v", i, i.DueAt())
	case i.State == incident.Open && (!i.ResolvedAt.IsZero() || !lasting && i.DueAt().IsZero()):
		r.Fatalf("open: %+v, due %v", i, i.DueAt())
	case i.SeverityNow > i.Severity || i.SeverityNow > 0 && (!lasting || i.State == incident.Resolved):
		r.Fatalf("severity %d, now %d: %+v", i.Severity, i.SeverityNow, i)
	case i.Quiet < incident.FirstQuiet || i.Quiet > incident.MaxQuiet || i.Severity < 0 || i.Severity > incident.MaxSeverity:
		r.Fatalf("quiet %v, severity %d", i.Quiet, i.Severity)
	}
}

// checkSpans checks that spans are ascending and apart, and that only the last may last.
func checkSpans(r *rapid.T, c incident.Condition) {
	for n, s := range c.Spans {
		last := n == len(c.Spans)-1
		if last && !s.EndedAt.Equal(c.EndedAt) || !last && s.EndedAt.Before(s.StartedAt) || n > 0 && !s.StartedAt.After(c.Spans[n-1].EndedAt) {
			r.Fatalf("span %d of %+v", n, c)
		}
	}
	if len(c.Spans) == 0 || len(c.Spans) > min(c.Count, incident.MaxSpans) {
		r.Fatalf("%d spans of %d episodes", len(c.Spans), c.Count)
	}
}

func TestTheSameInputsGiveTheSameIncidents(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first, second := newHistory(t), newHistory(t)
		sec := 0.0
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			sec += rapid.Float64Range(0, 900).Draw(r, "pause")
			in := anyInput(r, sec)
			first.step(sec, in)
			if len(second.all) > 0 { // a gateway that starts again reads the incident from its JSON
				raw, _ := json.Marshal(second.newest())
				read := new(incident.Incident)
				if err := json.Unmarshal(raw, read); err != nil {
					r.Fatal(err)
				}
				second.all[len(second.all)-1] = read
				second.tracker = incident.NewTracker(read)
			}
			second.step(sec, in)
		}
		a, _ := json.Marshal(first.all)
		b, _ := json.Marshal(second.all)
		if string(a) != string(b) {
			r.Fatalf("%s\n%s", a, b)
		}
	})
}
