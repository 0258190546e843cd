package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

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
