package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var _ pushes.Store = (*postgres.Store)(nil)

// pushed returns a notification about a login.
func pushed(id string, t eventsub.Type, login string) eventsub.Message {
	return eventsub.Message{ID: id, Kind: eventsub.Notification, Type: t, Login: login, Live: t == eventsub.Online, SentAt: noon, Body: []byte(`{"raw":"` + id + `"}`)}
}

// twitchPlace registers a monitor and a channel of a login.
func twitchPlace(t testing.TB, s *postgres.Store, n int, login string) (monitor.Monitor, channel.Channel) {
	t.Helper()
	m, c := registration(n), newChannel(n)
	m.StreamURL, c.Address = monitor.StreamURL(eventsub.URL(login)), channel.Address(eventsub.URL(login))
	c.Reading.NextAt = noon.Add(time.Hour)
	check(t, s.Insert(t.Context(), m, unlimited))
	check(t, s.CreateChannel(t.Context(), c))
	return m, c
}

func TestAPushIsAcceptedOnceByAllGateways(t *testing.T) { // S28
	gateways, db := newGateways(t)
	accept := func(n int, m eventsub.Message) bool {
		t.Helper()
		return must(gateways[n].AcceptMessage(t.Context(), m, noon))(t)
	}
	m, c := twitchPlace(t, gateways[0], 1, "one")
	other, quiet := twitchPlace(t, gateways[0], 2, "two")
	state := func(of monitor.Monitor) (status monitor.StreamStatus) {
		t.Helper()
		if o := must(gateways[1].Accept(t.Context(), of.ID, report()))(t).OfficialState; o != nil {
			status = o.Status
		}
		return status
	}
	next := func(of channel.Channel) time.Time { return getChannel(t, gateways[1], of.ID).Reading.NextAt }

	expect(t, "the first time", accept(0, pushed("m1", eventsub.Online, "one")), true)
	expect(t, "what the worker learns", state(m), monitor.StreamLive)
	expect(t, "the look at the channel is due", next(c), noon)
	expect(t, "what another worker learns", state(other), monitor.StreamStatus(""))
	expect(t, "the look at another channel is not", next(quiet), noon.Add(time.Hour))

	expect(t, "the same id at another gateway", accept(1, pushed("m1", eventsub.Offline, "one")), false)
	expect(t, "what the worker knows then", state(m), monitor.StreamLive)
	check(t, gateways[0].StoreOfficialStates(t.Context(), map[monitor.ID]monitor.StreamStatus{m.ID: monitor.StreamUpcoming}, 0))
	expect(t, "an API that is asked lags", state(m), monitor.StreamLive)
	alter(t, db, `UPDATE official_states SET pushed_at = now() - interval '31 seconds', asked_at = now() - interval '31 seconds'`)
	check(t, gateways[0].StoreOfficialStates(t.Context(), map[monitor.ID]monitor.StreamStatus{m.ID: monitor.StreamUpcoming}, 0))
	expect(t, "not for long", state(m), monitor.StreamUpcoming)

	expect(t, "the end", accept(1, pushed("m2", eventsub.Offline, "one")), true)
	expect(t, "what the worker learns of it", state(m), monitor.StreamEnded)
	expect(t, "a login that nobody watches", accept(1, pushed("m3", eventsub.Online, "nobody")), true)
	expectRows(t, db, `eventsub_messages WHERE convert_from(body, 'UTF8') = '{"raw":"' || id || '"}'`, 3)
	expectRows(t, db, `official_states`, 1)
	stopMonitor(t, gateways[0], m.ID)
	expect(t, "a start after the stop", accept(0, pushed("m4", eventsub.Online, "one")), true)
	expectRows(t, db, `official_states WHERE status = 'live'`, 0)
}

func TestTheTargetsOfPushesAreChannelsAndActiveMonitorsOfTwitch(t *testing.T) { // S28
	s, _ := newStore(t)
	m, _ := twitchPlace(t, s, 1, "both")
	ended, stopped := twitchPlace(t, s, 2, "over")
	register(t, s, 3)
	createChannel(t, s, 4)
	one := registration(5)
	one.StreamURL = monitor.StreamURL(eventsub.URL("alone"))
	check(t, s.Insert(t.Context(), one, unlimited))
	stopMonitor(t, s, ended.ID)
	stopChannel(t, s, stopped.ID)
	expect(t, "the targets", must(s.EventSubTargets(t.Context()))(t), []string{"alone", "both"})
	stopMonitor(t, s, m.ID)
	expect(t, "while the channel is watched", must(s.EventSubTargets(t.Context()))(t), []string{"alone", "both"})
}

func TestMessagesAreKeptForThreeDaysAndTheStateForEver(t *testing.T) { // S28
	s, db := newStore(t)
	expect(t, "at first", must(s.EventSubState(t.Context()))(t), eventsub.State{})
	check(t, s.ChangeEventSubState(t.Context(), func(state *eventsub.State) {
		state.Use("app", eventsub.Transport{Conduit: "c"})
		state.Connect("session", noon)
	}))
	must(s.AcceptMessage(t.Context(), pushed("old", eventsub.Online, "one"), noon))(t)
	must(s.AcceptMessage(t.Context(), pushed("young", eventsub.Online, "one"), noon))(t)
	must(s.AcceptMessage(t.Context(), eventsub.Message{ID: "revoked", Kind: eventsub.Revocation, SentAt: noon, Body: []byte(`{}`)}, noon))(t)
	alter(t, db, `UPDATE eventsub_messages SET received_at = now() - interval '73 hours' WHERE id = 'old'`)
	alter(t, db, `UPDATE eventsub_messages SET received_at = now() - interval '71 hours' WHERE id = 'young'`)
	check(t, s.ExpireMessages(t.Context(), eventsub.Kept, 10))
	expectRows(t, db, `eventsub_messages WHERE id IN ('young', 'revoked')`, 2)
	expectRows(t, db, `eventsub_messages`, 2)
	state := must(s.EventSubState(t.Context()))(t)
	expect(t, "the newest notification was there 71 h ago", time.Since(state.MessageAt).Round(time.Hour), 71*time.Hour)
	expect(t, "the revocation just now", time.Since(state.RevokedAt).Round(time.Hour), time.Duration(0))
	expect(t, "the session", state.Session, "session")
	expect(t, "since", state.ConnectedAt, noon)
}
