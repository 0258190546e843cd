package pushes_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// pass lets time pass, and what happens in it.
func (w *world) pass(d time.Duration) {
	w.change(func() {}) // what the test has read is not changed before
	time.Sleep(d)
	synctest.Wait()
}

func TestASocketIsKeptWhateverHappensToIt(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("one")
		defer w.follow(t, pushes.FollowerConfig{})()
		alive := func(d time.Duration) { // with keepalives
			for range d / (10 * time.Second) {
				w.pass(10 * time.Second)
				w.newest().send("session_keepalive", `{}`)
			}
			synctest.Wait()
		}
		sockets := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			expect.Equal(t, "sockets "+what, len(w.dialled), want)
			expect.Equal(t, "the shard "+what, w.shard, fmt.Sprintf("session %d", len(w.sockets)))
		}
		synctest.Wait()
		expect.Equal(t, "the conduits", w.conduits, []string{"conduit 1"})
		alive(time.Hour)
		sockets("after an hour of keepalives", 1)
		w.newest().push("m1", "one")
		w.newest().push("m1", "one")
		w.newest().frames <- "hello"
		w.newest().push("m2", "one")
		synctest.Wait()
		expect.Equal(t, "what is accepted of what comes, once", w.ids(), []string{"m1", "m2"})

		w.pass(35*time.Second - time.Millisecond)
		sockets("before the silence is too long", 1)
		w.pass(time.Millisecond + time.Second)
		sockets("after it", 2)
		expect.Text(t, "the log", w.log.String(), "the socket was silent for 35 s")

		for _, code := range []int{4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007, 1006} {
			alive(2 * time.Minute)
			before := len(w.dialled)
			w.newest().ends <- fmt.Errorf("it was closed with %d", code)
			w.pass(time.Second)
			sockets(fmt.Sprintf("after %d", code), before+1)
		}
		expect.Equal(t, "conduits in the end", w.conduits, []string{"conduit 1"})
		w.newest().push("m3", "one")
		synctest.Wait()
		expect.Equal(t, "what is accepted in the end", w.ids(), []string{"m1", "m2", "m3"})
	})
}

func TestASocketThatAsksForAnotherIsReadUntilThatIsThere(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("one")
		defer w.follow(t, pushes.FollowerConfig{})()
		w.pass(time.Second)
		first := w.newest()
		const next = "wss://cell-b.eventsub.wss.twitch.tv/ws?id=2"
		first.send("session_reconnect", `{"session":{"id":"session 1","reconnect_url":"`+next+`"}}`)
		first.push("m1", "one") // on its way
		w.pass(time.Second)
		expect.Equal(t, "the sockets", w.dialled, []string{eventsub.Socket, next})
		expect.Equal(t, "the shard", w.shard, "session 2")
		expect.Equal(t, "since when there is a socket", w.state.Session, "session 2")
		w.newest().push("m2", "one")
		first.push("m3", "one")
		w.pass(2 * time.Second)
		expect.Equal(t, "what is accepted", len(w.ids()), 3)
		expect.Equal(t, "the first one is closed", first.isClosed(), true)
		expect.Equal(t, "the second is not", w.newest().isClosed(), false)

		w.change(func() { w.unreachable = errors.New("no route") })
		second := w.newest()
		second.send("session_reconnect", `{"session":{"id":"session 2","reconnect_url":"`+next+`"}}`)
		w.pass(3500 * time.Millisecond)
		expect.Text(t, "why it fails", w.state.Failure, "connect to a socket: no route")
		second.push("m4", "one")
		w.change(func() { w.unreachable = nil })
		w.pass(4 * time.Second)
		expect.Equal(t, "the socket after a place that is not there", w.dialled[len(w.dialled)-1], eventsub.Socket)
		expect.Equal(t, "what is accepted meanwhile", len(w.ids()), 4)
		w.pass(2 * time.Second)
		expect.Equal(t, "the second one is closed when the third is there", second.isClosed(), true)
		expect.Equal(t, "the failure then", w.state.Failure, "")
	})
}

func TestWhatFailsIsTriedAgainAfterLongerAndLonger(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("one")
		w.unreachable = errors.New("no route")
		stop := w.follow(t, pushes.FollowerConfig{})
		w.pass(time.Hour)
		expect.Equal(t, "attempts in an hour", len(w.dialled), 6+29+1) // at 0, 1, 3, 7, 15, 31, 63 s, 127 s, then each 2 minutes
		expect.Equal(t, "conduits", w.conduits, []string{"conduit 1"})
		w.change(func() { w.unreachable = nil })
		for began := time.Now(); w.state.ConnectedAt.IsZero() && time.Since(began) < 2*time.Minute; {
			w.pass(time.Second)
		}
		expect.Equal(t, "the failure", w.state.Failure, "")
		expect.Equal(t, "it is connected", w.state.ConnectedAt.IsZero(), false)
		stop()
		expect.Equal(t, "it is connected after the end", w.state.ConnectedAt.IsZero(), true)
		expect.Text(t, "the log", w.log.String(), "Twitch pushes no starts or not all", "Twitch pushes starts again")
	})
}

func TestAnotherGatewayTakesOverTheConduit(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("one")
		w.conduits = []string{"of somebody else"}
		w.follow(t, pushes.FollowerConfig{})()
		stop := w.follow(t, pushes.FollowerConfig{})
		w.pass(10 * time.Second)
		expect.Equal(t, "conduits", w.conduits, []string{"of somebody else", "conduit 2"})
		expect.Equal(t, "what is subscribed", w.keys(), []string{"stream.offline/id of one", "stream.online/id of one"})
		stop()
		w.conduits = nil // no socket for three days
		stop = w.follow(t, pushes.FollowerConfig{})
		w.pass(10 * time.Second)
		expect.Equal(t, "conduits, when it is gone", w.conduits, []string{"conduit 1"})
		for _, s := range w.subscriptions {
			expect.Equal(t, "the conduit of a subscription", s.Transport, eventsub.Transport{Conduit: "conduit 1"})
		}
		stop()
		stop = w.follow(t, pushes.FollowerConfig{Callback: "https://gateway.example/eventsub/twitch"})
		w.pass(10 * time.Second)
		expect.Equal(t, "what is subscribed by webhook", len(w.keys()), 2)
		for _, s := range w.subscriptions {
			expect.Equal(t, "the webhook of a subscription", s.Transport.Callback, "https://gateway.example/eventsub/twitch?secret="+eventsub.Secret("the secret").Fingerprint())
		}
		stop()
	})
}

func TestAHundredLoginsAreSubscribedAtOnce(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		var logins []string
		for n := range 100 {
			logins = append(logins, fmt.Sprintf("login_%d", n))
		}
		w := newWorld(logins...)
		w.unknown = map[string]bool{"login_7": true}
		defer w.follow(t, pushes.FollowerConfig{})()
		w.pass(15 * time.Second) // 198 calls of 0.1 s, four at a time
		expect.Equal(t, "calls", w.took(), map[string]int{"conduits": 1, "create conduit": 1, "assign": 1, "users": 1, "list": 2, "subscribe": 198})
		expect.Equal(t, "the unknown logins", w.state.Unknown, []string{"login_7"})
		expect.Equal(t, "subscriptions and missing ones", []int{w.state.Subscriptions, w.state.Missing}, []int{198, 0})

		w.newest().send("session_keepalive", `{}`)
		w.change(func() { w.logins = logins[1:] })
		w.pass(15 * time.Second)
		expect.Equal(t, "calls for one login less", w.took(), map[string]int{"unsubscribe": 2, "list": 1})
		for range 60 {
			w.newest().send("session_keepalive", `{}`)
			w.pass(10 * time.Second)
		}
		expect.Equal(t, "calls in ten minutes of calm", w.took(), map[string]int{"list": 1})
	})
}

func TestARevokedSubscriptionIsMadeAgain(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("one")
		defer w.follow(t, pushes.FollowerConfig{})()
		w.pass(12 * time.Second)
		w.took()
		w.change(func() {
			for id, s := range w.subscriptions {
				if s.Type == eventsub.Online {
					s.Status = "notification_failures_exceeded"
					w.subscriptions[id] = s
				}
			}
		})
		w.newest().send("revocation", `{"subscription":{"type":"stream.online","status":"notification_failures_exceeded","condition":{"broadcaster_user_id":"id of one"}}}`)
		w.pass(6 * time.Second)
		expect.Equal(t, "calls", w.took(), map[string]int{"list": 1, "unsubscribe": 1, "subscribe": 1})
		expect.Equal(t, "what is subscribed", w.keys(), []string{"stream.offline/id of one", "stream.online/id of one"})
		expect.Text(t, "the log", w.log.String(), "Twitch has revoked a subscription", "notification_failures_exceeded")
	})
}

func TestWhatTwitchRefusesIsNotAskedForAllTheTime(t *testing.T) { // S28
	refusal := func(status int) error {
		return &pushes.Refusal{Status: status, Detail: fmt.Sprintf("HTTP %d: no", status)}
	}
	one := eventsub.Key{Type: eventsub.Online, UserID: "id of one"}
	for name, c := range map[string]struct {
		refuse func(method string, about any) error
		calls  map[string]int // to subscribe and to list, in 10 minutes
		made   int
	}{
		"one subscription": {func(_ string, about any) error {
			if about == one {
				return refusal(403)
			}
			return nil
		}, map[string]int{"subscribe": 4, "list": 2}, 3},
		"too many calls": {func(method string, _ any) error {
			if method == "subscribe" {
				return refusal(429)
			}
			return nil
		}, map[string]int{"subscribe": 4 * 11, "list": 11}, 0},
		"the credentials": {func(string, any) error { return refusal(401) }, map[string]int{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld("one", "two")
				w.refuse = c.refuse
				defer w.follow(t, pushes.FollowerConfig{Callback: "https://gateway.example/eventsub/twitch"})()
				w.pass(10*time.Minute - time.Second)
				calls := w.took()
				maps.DeleteFunc(calls, func(method string, _ int) bool { return method == "users" })
				expect.Equal(t, "calls", calls, c.calls)
				expect.Equal(t, "subscriptions", len(w.keys()), c.made)
				expect.Text(t, "why not all", w.state.Failure, "no")
			})
		})
	}
}

// Twitch does not reach the webhook: each subscription fails as soon as it is made. The calls of the API, which discovery needs, too, are
// 800 a minute.
func TestAWebhookThatTwitchDoesNotReachCostsFewCalls(t *testing.T) { // S28
	synctest.Test(t, func(t *testing.T) {
		var logins []string
		for n := range 100 {
			logins = append(logins, fmt.Sprint("login", n))
		}
		w := newWorld(logins...)
		defer w.follow(t, pushes.FollowerConfig{Callback: "https://gateway.example/eventsub/twitch"})()
		for range 60 {
			w.pass(time.Second)
			w.change(func() {
				for id, s := range w.subscriptions {
					s.Status = "webhook_callback_verification_failed"
					w.subscriptions[id] = s
				}
			})
		}
		calls := 0
		for _, n := range w.took() {
			calls += n
		}
		if calls > 500 {
			t.Errorf("%d calls in a minute", calls)
		}
		w.pass(time.Second)
		expect.Text(t, "why", w.state.Failure, "webhook_callback_verification_failed")
	})
}
