package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	s := open(t, database(t))
	hook, chat := addDestination(t, s, notify.Webhook, "hook"), addDestination(t, s, notify.Discord, "chat")
	e, twin := trouble(detector.Blackout, justNow()), trouble(detector.Blackout, justNow()) // in one moment
	m := registerWith(t, s, 1, e)
	registerWith(t, s, 2, twin)
	i := onlyIncident(t, s, m.ID)
	for _, d := range leaseForDestinations(t, s) {
		switch {
		case d.Event == nil:
			tell(t, s, d)
		case d.Event.EventID == e.ID:
			recordOutcome(t, s, d, retried(time.Hour))
		default:
			recordOutcome(t, s, d, rejected())
		}
	}
	expectSent(t, s) // it is decided that there is no more to tell
	all := deliveries(t, s, monitors.DeliveryQuery{})
	for name, c := range map[string]struct {
		q    monitors.DeliveryQuery
		want int
	}{
		"all":                    {monitors.DeliveryQuery{}, 6},
		"of the monitor":         {monitors.DeliveryQuery{MonitorID: m.ID}, 3},
		"of the event":           {monitors.DeliveryQuery{EventID: e.ID}, 2},
		"of the incident":        {monitors.DeliveryQuery{IncidentID: i.ID}, 3},
		"of another incident":    {monitors.DeliveryQuery{IncidentID: newID()}, 0},
		"of the webhook":         {monitors.DeliveryQuery{DestinationID: hook.ID}, 2},
		"pending":                {monitors.DeliveryQuery{State: monitors.DeliveryPending}, 3},
		"delivered":              {monitors.DeliveryQuery{State: monitors.DeliveryDelivered}, 2},
		"failed":                 {monitors.DeliveryQuery{State: monitors.DeliveryFailed}, 1},
		"failed, of the monitor": {monitors.DeliveryQuery{State: monitors.DeliveryFailed, MonitorID: m.ID}, 0},
		"pending at the chat":    {monitors.DeliveryQuery{State: monitors.DeliveryPending, DestinationID: chat.ID}, 0},
		"delivered at the chat":  {monitors.DeliveryQuery{State: monitors.DeliveryDelivered, DestinationID: chat.ID}, 2},
	} {
		got := deliveries(t, s, c.q)
		expectLen(t, name+": deliveries", got, c.want)
		if !slices.IsSortedFunc(got, func(a, b monitors.DeliveryRecord) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
			t.Errorf("%s: not the newest first", name)
		}
	}
	atFirst := func(d notify.Destination) monitors.DeliveryRecord {
		return deliveries(t, s, monitors.DeliveryQuery{DestinationID: d.ID, MonitorID: m.ID})[0]
	}
	event, message := atFirst(hook), atFirst(chat)
	if event.DeliveryID == nil || *event.Destination != (monitors.DeliveryDestination{ID: hook.ID, Name: "hook", Kind: "webhook"}) || *event.EventID != e.ID || *event.Sequence != 1 ||
		*event.IncidentID != i.ID || *event.StreamURL != m.StreamURL || event.Tried != 1 || len(event.Attempts) != 1 || *event.LastError != "no" || time.Until(*event.NextAttemptAt) < 50*time.Minute {
		t.Errorf("the event is %+v at %+v", event, event.Destination)
	}
	if message.EventID != nil || *message.IncidentID != i.ID || *message.MonitorID != m.ID || message.DeliveredAt == nil || message.LastError != nil {
		t.Errorf("the message is %+v", message)
	}
	q := monitors.DeliveryQuery{Limit: 1}
	for n, d := range all {
		page := deliveries(t, s, q)
		if len(page) != 1 || page[0].ID() != d.ID() {
			t.Fatalf("page %d has %+v", n, page)
		}
		q.Before = monitors.DeliveryPlace{CreatedAt: page[0].CreatedAt, ID: page[0].ID()}
	}
	expectLen(t, "the last page", deliveries(t, s, q), 0)
}

func TestAMessageThatWasSentIsNotPendingUntilItIsRepeatedOrReplayed(t *testing.T) {
	s := open(t, database(t))
	chat := addDestination(t, s, notify.Discord, "chat")
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error {
		r.RepeatSec = 600
		return nil
	}))(t)
	registerBlack(t, s, 1)
	route(t, s)
	expect := func(when string, want monitors.DeliveryState) {
		t.Helper()
		for _, state := range []monitors.DeliveryState{monitors.DeliveryPending, monitors.DeliveryDelivered, ""} {
			found := 0
			for _, d := range deliveries(t, s, monitors.DeliveryQuery{State: state}) {
				if d.Destination != nil && d.State == want {
					found++
				}
			}
			expect(t, when+": found among those that are "+string(state), found == 1, state == want || state == "")
		}
	}
	expect("before it is sent", monitors.DeliveryPending)
	require(t, "openings at the chat", tellAll(t, s)["chat opened"], 1)
	expect("until the repetition", monitors.DeliveryDelivered)
	check(t, s.Replay(t.Context(), *deliveries(t, s, monitors.DeliveryQuery{DestinationID: chat.ID})[0].DeliveryID))
	expectSent(t, s, "chat opened")
}

func TestDeliveriesAreReplayed(t *testing.T) {
	s := open(t, database(t))
	hook := addDestination(t, s, notify.Webhook, "hook")
	registerWith(t, s, 1, blackout(1), blackout(2))
	var ids []string
	for range 2 {
		d := leaseOneForDestination(t, s)
		ids = append(ids, d.ID)
		recordOutcome(t, s, d, rejected())
	}
	expectNoneForDestinations(t, s)
	for range 2 {
		check(t, s.Replay(t.Context(), ids[0]))
	}
	again := leaseOneForDestination(t, s)
	if again.ID != ids[0] || again.Event.Sequence != 1 || again.Tried != 0 {
		t.Errorf("leased %+v", again)
	}
	recordOutcome(t, s, again, rejected())
	for destination, want := range map[string]int{newID(): 0, hook.ID: 2} {
		expect(t, "replayed deliveries", must(s.ReplayFailed(t.Context(), noon.Add(-time.Hour), destination))(t), want)
	}
	for n, d := range leaseForDestinations(t, s) { // no other waits for them any more
		expect(t, "the leased deliveries", d.ID, ids[n])
		recordOutcome(t, s, d, rejected())
	}
	expect(t, "replayed deliveries of next year", must(s.ReplayFailed(t.Context(), time.Now().Add(365*24*time.Hour), ""))(t), 0)
	expect(t, "replayed deliveries", must(s.ReplayFailed(t.Context(), noon.Add(-time.Hour), ""))(t), 2)

	// One that is in flight is not replayed, and one that waits for a retry now.
	waiting := leaseForDestinations(t, s)[0]
	check(t, s.Replay(t.Context(), waiting.ID))
	expectNoneForDestinations(t, s)
	recordOutcome(t, s, waiting, retried(8*time.Hour))
	expectNoneForDestinations(t, s)
	check(t, s.Replay(t.Context(), waiting.ID))
	again = leaseOneForDestination(t, s)
	if again.ID != waiting.ID || again.Tried != 0 {
		t.Errorf("leased %+v", again)
	}
	requireCode(t, s.Replay(t.Context(), newID()), routing.DeliveryNotFound)
	requireCode(t, s.Replay(t.Context(), "x"), routing.DeliveryNotFound)
}

func TestAMessageIsReplayedAsIfItWereNew(t *testing.T) {
	s := open(t, database(t))
	chat := addDestination(t, s, notify.Discord, "chat")
	m := registerBlack(t, s, 1)
	expectSent(t, s, "chat opened")
	id := *deliveries(t, s, monitors.DeliveryQuery{DestinationID: chat.ID})[0].DeliveryID
	replay := func() { t.Helper(); check(t, s.Replay(t.Context(), id)) }
	replay()
	d := leaseOneForDestination(t, s)
	expect(t, "the name of the message that is there already", d.Notified.ProviderMessageID, "ref")
	expect(t, "the message", tell(t, s, d), notify.Opened)
	replay()
	resolveIncident(t, s, m.ID)
	expectSent(t, s, "chat recovered")
	replay()
	expectSent(t, s, "chat recovered")
}

func TestADestinationThatIsGoneIsDisabled(t *testing.T) {
	s, db := newStore(t)
	gone, mail, chat := addDestination(t, s, notify.Webhook, "gone"), addDestination(t, s, notify.Email, "mail"), addDestination(t, s, notify.Discord, "chat")
	addNotices(t, db, gone, 2)
	d := leaseForDestinations(t, s)[0]
	outcome := isGone()
	alter(t, db, `ALTER TABLE destinations ADD CONSTRAINT refused CHECK (enabled)`) // it is disabled after the attempt is stored
	expectFailure(t, "disabling it although the table refuses it", errorOf(s.Record(t.Context(), d, outcome)))
	alter(t, db, `ALTER TABLE destinations DROP CONSTRAINT refused`)
	expect(t, "the reason", recordOutcome(t, s, d, outcome), "it does not exist any more: HTTP 410")
	expect(t, "the reason of a second time", recordOutcome(t, s, d, outcome), "")
	if got := must(s.Destination(t.Context(), gone.ID))(t); got.Enabled || got.DisabledReason != "gone" || got.Failures != 1 || got.LastError != "HTTP 410" {
		t.Errorf("the destination is %+v", got)
	}
	notices := map[string]bool{}
	for _, d := range leaseForDestinations(t, s) {
		if d.Notice == nil || d.Notice.Destination != "gone" || d.Notice.Cause != "gone" || d.Notice.LastError != "HTTP 410" || d.Notice.At.IsZero() {
			t.Errorf("leased %+v", d)
		}
		notices[d.Destination.ID] = true
		recordOutcome(t, s, d, delivered())
	}
	if len(notices) != 2 || !notices[mail.ID] || !notices[chat.ID] {
		t.Errorf("notices went to %v", notices)
	}
	t.Run("and its fallback is told, if it has one", func(t *testing.T) {
		must(s.ChangeDestination(t.Context(), mail.ID, func(d *notify.Destination) error { d.Fallback = chat.ID; return nil }))(t)
		addNotices(t, db, mail, 1)
		alter(t, db, `UPDATE destinations SET failures = 100, failing_since = now() - interval '5 days' WHERE id = $1`, mail.ID)
		if reason := recordOutcome(t, s, leaseOneForDestination(t, s), retried(time.Hour)); reason == "" {
			t.Error("it is not disabled")
		}
		if d := leaseOneForDestination(t, s); d.Destination.ID != chat.ID || d.Notice.Destination != "mail" {
			t.Errorf("leased %+v", d)
		}
	})
}

// A webhook gets no messages, so it cannot be told that another destination is disabled.
func TestSomebodyIsToldOfADisabledDestination(t *testing.T) {
	for _, c := range []struct {
		name, fallback string
		damage         string
		told           string
	}{
		{"its fallback is a webhook", "hook", ``, "mail"},
		{"its fallback is disabled", "chat", `UPDATE destinations SET enabled = false WHERE name = 'chat'`, "mail"},
		{"the default route has no destination", "", `UPDATE routes SET destinations = '{}'`, "chat mail"},
		{"the default route has only webhooks and itself", "", `UPDATE routes SET destinations = ARRAY(SELECT id FROM destinations WHERE kind = 'webhook')`, "chat mail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, db := newStore(t)
			gone := addDestination(t, s, notify.Webhook, "gone")
			addDestination(t, s, notify.Webhook, "hook")
			addDestination(t, s, notify.Email, "mail")
			addDestination(t, s, notify.Discord, "chat")
			alter(t, db, `UPDATE routes SET destinations = ARRAY(SELECT id FROM destinations WHERE name <> 'chat')`)
			alter(t, db, `UPDATE destinations SET fallback = (SELECT id FROM destinations WHERE name = $1) WHERE name = 'gone'`, c.fallback)
			if c.damage != "" {
				alter(t, db, c.damage)
			}
			alter(t, db, `UPDATE routing_version SET version = version + 1`)
			addNotices(t, db, gone, 1)
			recordOutcome(t, s, leaseOneForDestination(t, s), isGone())
			var told []string
			for _, d := range leaseForDestinations(t, s) {
				told = append(told, d.Destination.Name)
			}
			slices.Sort(told)
			expect(t, "who was told", strings.Join(told, " "), c.told)
		})
	}
}

func TestFailedDeliveriesAreReplayedInBatches(t *testing.T) {
	s, db := newStore(t)
	chat := addDestination(t, s, notify.Discord, "chat")
	addNotices(t, db, chat, 2100)
	alter(t, db, `UPDATE deliveries SET state = 'failed', due_at = NULL`)
	holding(t, db, `UPDATE deliveries SET told = NULL WHERE id = (SELECT min(CAST(id AS text))::uuid FROM deliveries)`)
	expect(t, "replayed deliveries, all but the one that is locked", must(s.ReplayFailed(t.Context(), noon.Add(-time.Hour), ""))(t), 2099)
	expectRows(t, db, `(SELECT DISTINCT xmin FROM deliveries WHERE state = 'pending') AS transactions`, 3) // transactions
}
