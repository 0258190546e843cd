package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The rows of these tests were changed by something else than this program.

func TestAStreamWithAnUnreadableReasonHoldsBackNoMessage(t *testing.T) {
	for _, unseen := range []string{`"x"`, `{"since": 1}`, `{"since": "yesterday", "class": 4}`, `[]`} {
		t.Run(unseen, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			addDestination(t, s, notify.Discord, "chat")
			ids := openIncidents(t, s, 0, 3, 3)
			alter(t, db, `UPDATE monitors SET unseen = CAST($2 AS jsonb) WHERE id = $1`, ids[1], unseen)
			expectSent(t, s) // the storm waits a moment for more
			pass(t, db, 6*time.Second)
			expectSent(t, s, "chat opened")
		})
	}
}

func TestAnUnreadableMonitorHidesNoOtherFromTheChecker(t *testing.T) {
	for name, change := range map[string]string{
		"its reason":    `unseen = '{"since": "yesterday", "class": "dns"}'`,
		"its interval":  `config = '{"check_interval_sec": "ten"}'`,
		"its config":    `config = '[1]'`,
		"all of unseen": `unseen = '"x"'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			var ids []monitor.ID
			for n := range 5 {
				m, r := register(t, s, n+1), report()
				r.Visibility = &monitor.Visibility{Unseen: monitor.Unseen{Since: noon, Class: monitor.NoDNS}}
				acceptReport(t, s, m.ID, r, monitor.Run)
				ids = append(ids, m.ID)
			}
			alter(t, db, `UPDATE monitors SET `+change+` WHERE id = $1`, ids[2])
			c, err := s.ReadChecker(t.Context())
			if err != nil || c.Watched != 5 {
				t.Fatalf("the checker is %+v: %v", c, err)
			}
			if b := c.BlindSpot; b == nil || b.Monitors < 4 || !b.Since.Equal(noon) {
				t.Errorf("the blind spot is %+v", b)
			}
		})
	}
}

func TestAListHasTheRestOfARowThatCannotBeRead(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Discord, "chat")
	ids := openIncidents(t, s, 0, 3, 3)
	expectSent(t, s) // the storm waits a moment for more
	pass(t, db, 6*time.Second)
	expectSent(t, s, "chat opened")
	alter(t, db, `UPDATE monitors SET config = '[1]' WHERE id = $1`, ids[0])
	alter(t, db, `UPDATE incidents SET conditions = '"x"' WHERE monitor_id = $1`, ids[1])
	alter(t, db, `UPDATE deliveries SET attempts = '"x"'`)
	list, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 10})
	if err != nil || len(list) != 3 {
		t.Errorf("%d monitors: %v", len(list), err)
	}
	incidents, err := s.ListIncidents(t.Context(), incidents.Filter{Limit: 10})
	if err != nil || len(incidents) != 3 {
		t.Errorf("%d incidents: %v", len(incidents), err)
	}
	if n := len(deliveries(t, s, monitors.DeliveryQuery{})); n == 0 {
		t.Error("no deliveries")
	}
	events, _, err := s.Events(t.Context(), ids[2], 10, 0)
	if err != nil || len(events) == 0 || len(events[0].Payload) == 0 {
		t.Errorf("events %+v: %v", events, err)
	}
}
