package pagerduty_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/pagerduty"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(pagerduty.New), Server: s, Edits: true, Alerts: true, Picture: notifiertest.ByURL, Reads: 5000,
			Destination:      destination(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["routing_key"] = "geheim-wrong-0123456789abcdef012" },
		}
	})
}

func TestAnIncidentIsOneAlertUntilItIsResolved(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), pagerduty.New)
	ref := ""
	for _, step := range []struct {
		kind   notify.MessageKind
		push   bool
		open   bool
		state  string
		alerts int
	}{
		{notify.Opened, true, true, "triggered", 1},
		{notify.Worse, true, true, "triggered", 1},
		{notify.Acknowledged, false, true, "acknowledged", 1},
		{notify.Repeated, true, true, "acknowledged", 1},
		{notify.Recovered, false, false, "resolved", 1},
		{notify.Updated, false, true, "resolved", 1},
		{notify.Updated, false, false, "resolved", 1},
		{notify.Reopened, false, true, "resolved", 1}, // its push is still to come
		{notify.Reopened, true, true, "triggered", 2},
		{notify.Worse, false, true, "triggered", 2},
	} {
		r := sender.Send(t.Context(), destination(s), message.Message{ThreadID: "thread", Ref: ref, Title: string(step.kind), Kind: step.kind, Push: step.push, Open: step.open, Severity: 3})
		all := s.Messages()
		if r.Error != "" || r.Ref != "thread" || len(all) != step.alerts || all[len(all)-1].State != step.state || all[0].Priority != "critical" {
			t.Errorf("%s: %+v, people see %v", step.kind, r, all)
		}
		ref = r.Ref
	}
}

func TestAnIncidentThatSomebodyHasPagesNobody(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), pagerduty.New)
	for _, kind := range []notify.MessageKind{notify.Opened, notify.Worse, notify.Acknowledged} {
		r := sender.Send(t.Context(), destination(s), message.Message{ThreadID: "thread", Title: string(kind), Kind: kind, Open: true})
		if all := s.Messages(); r.Error != "" || r.Ref != "thread" || len(all) != 0 {
			t.Errorf("%s: %+v, people see %v", kind, r, all)
		}
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.PagerDuty,
		Config:  map[string]string{"api_url": s.URL},
		Secrets: map[string]string{"routing_key": fake.RoutingKey},
	}
}
