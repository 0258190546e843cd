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

func TestWhatWasNeverOpenedIsNotResolved(t *testing.T) {
	if step := notify.Next(at(100), resolved(situation(1), 100), notify.Notified{}, notify.ThreadPolicy{}); step != (notify.NextMessage{}) {
		t.Errorf("got %+v", step)
	}
}

func TestAChannelThatCannotEditWaitsForAPicture(t *testing.T) {
	s, p := situation(1, black), notify.ThreadPolicy{PictureWait: 3 * time.Second}
	if step := notify.Next(at(0), s, notify.Notified{}, p); step != (notify.NextMessage{At: at(3)}) {
		t.Errorf("without a picture %+v", step)
	}
	s.HasPicture = true
	if step := notify.Next(at(1), s, notify.Notified{}, p); step.Kind != notify.Opened {
		t.Errorf("with a picture %+v", step)
	}
}
