package eventsub_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// frame returns a frame that was sent now.
func frame(kind, payload string) string {
	return fmt.Sprintf(`{"metadata":{"message_id":"m1","message_type":%q,"message_timestamp":%q},"payload":%s}`, kind, now.Format(time.RFC3339Nano), payload)
}

const about = `"subscription":{"id":"s","type":"stream.online","version":"1","status":"enabled","condition":{"broadcaster_user_id":"7"}}`

func TestWhatAFrameSays(t *testing.T) {
	session := func(fields string) string { return `{"session":{` + fields + `}}` }
	event := func(fields string) string {
		return `{` + about + `,"event":{"broadcaster_user_id":"7","broadcaster_user_login":"one",` + fields + `}}`
	}
	for name, c := range map[string]struct {
		raw     string
		want    eventsub.Frame // without its message
		message bool
		err     string
	}{
		"a welcome":                   {raw: frame("session_welcome", session(`"id":"a","keepalive_timeout_seconds":30`)), want: eventsub.Frame{Kind: eventsub.Welcome, Session: "a", Silence: 35 * time.Second}},
		"a silence that is none":      {raw: frame("session_welcome", session(`"id":"a","keepalive_timeout_seconds":-1`)), want: eventsub.Frame{Kind: eventsub.Welcome, Session: "a", Silence: 15 * time.Second}},
		"a keepalive":                 {raw: frame("session_keepalive", `{}`), want: eventsub.Frame{Kind: eventsub.Keepalive}},
		"a reconnection":              {raw: frame("session_reconnect", session(`"id":"a","reconnect_url":"wss://cell-a.eventsub.wss.twitch.tv/ws?id=1"`)), want: eventsub.Frame{Kind: eventsub.Reconnect, Session: "a", Silence: 15 * time.Second, Reconnect: "wss://cell-a.eventsub.wss.twitch.tv/ws?id=1"}},
		"a start":                     {raw: frame("notification", event(`"type":"live"`)), want: eventsub.Frame{Kind: "notification"}, message: true},
		"a message that is not known": {raw: frame("news", event(`"type":"live"`)), want: eventsub.Frame{Kind: "news"}, message: true},
		"a message of before":         {raw: strings.Replace(frame("notification", event(`"type":"live"`)), "T12:00", "T11:49", 1), want: eventsub.Frame{Kind: "notification"}},
		"a welcome without a session": {raw: frame("session_welcome", `{}`), err: "names no session"},
		"a reconnection to elsewhere": {raw: frame("session_reconnect", session(`"id":"a","reconnect_url":"wss://twitch.tv.example/ws"`)), err: "no socket of Twitch"},
		"a reconnection in clear":     {raw: frame("session_reconnect", session(`"id":"a","reconnect_url":"ws://eventsub.wss.twitch.tv/ws"`)), err: "no socket of Twitch"},
		"an event of somebody else":   {raw: frame("notification", `{`+about+`,"event":{"broadcaster_user_id":"8"}}`), err: "not that of its subscription"},
		"no subscription":             {raw: frame("notification", `{}`), err: "no subscription"},
		"no JSON":                     {raw: `hello`, err: "none of EventSub"},
		"JSON of something else":      {raw: `{"type":"PONG"}`, err: "none of EventSub"},
	} {
		got, err := eventsub.ReadFrame([]byte(c.raw), now)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: the error is %v, want %q", name, err, c.err)
			}
			continue
		}
		equal(t, name+": has a message", got.Message != nil, c.message)
		got.Message = nil
		equal(t, name, got, c.want)
		equal(t, name+": the error", err, nil)
	}
}

func TestAMessageTellsOfALiveStartOrAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		message eventsub.Message
		state   monitor.StreamStatus // empty: it tells of nothing
	}{
		"a start":              {eventsub.Message{Kind: eventsub.Notification, Type: eventsub.Online, Login: "one", Live: true}, monitor.StreamLive},
		"an end":               {eventsub.Message{Kind: eventsub.Notification, Type: eventsub.Offline, Login: "one"}, monitor.StreamEnded},
		"a rerun":              {eventsub.Message{Kind: eventsub.Notification, Type: eventsub.Online, Login: "one"}, ""},
		"another type":         {eventsub.Message{Kind: eventsub.Notification, Type: "channel.update", Login: "one"}, ""},
		"a revocation":         {eventsub.Message{Kind: eventsub.Revocation, Type: eventsub.Online, Login: "one", Live: true}, ""},
		"a login that is none": {eventsub.Message{Kind: eventsub.Notification, Type: eventsub.Offline, Login: "../one"}, ""},
	} {
		url, state, ok := c.message.Stream()
		equal(t, name+": it tells", ok, c.state != "")
		if ok {
			equal(t, name, state, c.state)
			equal(t, name+": the stream", url, monitor.StreamURL("https://www.twitch.tv/one"))
		}
	}
}

func TestSubscriptionsAreMadeAndEndedByWhatIsWanted(t *testing.T) {
	ours, before, others := eventsub.Transport{Conduit: "now"}, eventsub.Transport{Callback: "https://before.example/"}, eventsub.Transport{Conduit: "of somebody else"}
	made := func(id string, typ eventsub.Type, user string, by eventsub.Transport, status string) eventsub.Subscription {
		return eventsub.Subscription{ID: id, Key: eventsub.Key{Type: typ, UserID: user}, Status: status, Cost: 1, Transport: by}
	}
	on := func(user string) eventsub.Key { return eventsub.Key{Type: eventsub.Online, UserID: user} }
	off := func(user string) eventsub.Key { return eventsub.Key{Type: eventsub.Offline, UserID: user} }
	const enabled = "enabled"
	for name, c := range map[string]struct {
		users    []string
		existing eventsub.Existing
		want     eventsub.Plan
	}{
		"nothing is wanted":               {},
		"all starts before the first end": {[]string{"1", "2"}, eventsub.Existing{}, eventsub.Plan{Add: []eventsub.Key{on("1"), on("2"), off("1"), off("2")}}},
		"a user twice":                    {[]string{"1", "1"}, eventsub.Existing{}, eventsub.Plan{Add: []eventsub.Key{on("1"), off("1")}}},
		"one works, one waits":            {[]string{"1"}, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", ours, enabled), made("b", eventsub.Offline, "1", ours, "webhook_callback_verification_pending")}}, eventsub.Plan{}},
		"one was revoked": {[]string{"1"}, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", ours, "notification_failures_exceeded"), made("b", eventsub.Offline, "1", ours, enabled)}},
			eventsub.Plan{Add: []eventsub.Key{on("1")}, Remove: []string{"a"}}},
		"two are equal": {[]string{"1"}, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", ours, enabled), made("b", eventsub.Online, "1", ours, enabled), made("c", eventsub.Offline, "1", ours, enabled)}},
			eventsub.Plan{Remove: []string{"b"}}},
		"one is not wanted any more": {nil, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", ours, enabled)}}, eventsub.Plan{Remove: []string{"a"}}},
		"a former way is replaced": {[]string{"1"}, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", before, enabled), made("b", eventsub.Offline, "1", ours, enabled)}},
			eventsub.Plan{Add: []eventsub.Key{on("1")}, Remove: []string{"a"}}},
		"somebody else uses the application": {[]string{"1"}, eventsub.Existing{Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "1", others, enabled), made("b", "channel.follow", "9", others, enabled)}},
			eventsub.Plan{Add: []eventsub.Key{on("1"), off("1")}}},
		"there is room for three": {[]string{"1", "2"}, eventsub.Existing{Cost: 8, MaxCost: 10, Subscriptions: []eventsub.Subscription{made("a", eventsub.Online, "9", ours, enabled)}},
			eventsub.Plan{Add: []eventsub.Key{on("1"), on("2"), off("1")}, Remove: []string{"a"}, NoRoom: 1}},
		"there is no room": {[]string{"1"}, eventsub.Existing{Cost: 12, MaxCost: 10}, eventsub.Plan{Add: []eventsub.Key{}, NoRoom: 2}},
	} {
		got := eventsub.MakePlan(c.users, c.existing, ours, []eventsub.Transport{before})
		if len(got.Add) == 0 && len(c.want.Add) == 0 {
			got.Add = c.want.Add
		}
		equal(t, name, got, c.want)
	}
}

func TestAnotherApplicationBeginsAnewAndAnotherWayIsRemembered(t *testing.T) {
	var s eventsub.State
	conduit, webhook := eventsub.Transport{Conduit: "c"}, eventsub.Transport{Callback: "https://gateway.example/"}
	s.Use("app", conduit)
	s.Connect("session", now)
	equal(t, "at first", s.Former, nil)
	s.Disconnect("the one before")
	equal(t, "a session that ended after the next had begun", s.Session, "session")
	s.Use("app", webhook)
	equal(t, "the way before", s.Former, []eventsub.Transport{conduit})
	s.Use("another", conduit)
	equal(t, "another application", s, eventsub.State{Client: "another", Transport: conduit})
}

func TestTheSubscriptionsAreAskedForAfterARevocationAndEveryTenMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		state eventsub.State
		want  bool
	}{
		"never":                        {eventsub.State{}, true},
		"lately":                       {eventsub.State{ListedAt: now.Add(-9 * time.Minute)}, false},
		"long ago":                     {eventsub.State{ListedAt: now.Add(-10 * time.Minute)}, true},
		"by a clock that was set back": {eventsub.State{ListedAt: now.Add(time.Hour)}, true},
		"before a revocation":          {eventsub.State{ListedAt: now.Add(-time.Minute), RevokedAt: now}, true},
		"after a revocation":           {eventsub.State{ListedAt: now.Add(-time.Minute), RevokedAt: now.Add(-time.Hour)}, false},
	} {
		equal(t, name, c.state.ListDue(now), c.want)
	}
}

func TestWithoutASecretEveryWebhookIsForged(t *testing.T) {
	mac := hmac.New(sha256.New, nil)
	_, _ = mac.Write([]byte("m1" + now.Format(time.RFC3339)))
	_, err := eventsub.Secret("").Read(eventsub.Header{ID: "m1", Timestamp: now.Format(time.RFC3339), Signature: "sha256=" + hex.EncodeToString(mac.Sum(nil))}, nil, now)
	if refusal, is := errors.AsType[*monitor.Error](err); !is || refusal.Code != eventsub.Forged {
		t.Errorf("the error is %v", err)
	}
}

func TestTheSecretIsOfTheKeyAndItsNameRevealsNothing(t *testing.T) {
	one, two := eventsub.SecretOf("one"), eventsub.SecretOf("two")
	if one == two || len(one) != 64 || one.Fingerprint() == two.Fingerprint() || strings.Contains(string(one), one.Fingerprint()) {
		t.Errorf("the secrets are %s (%s) and %s (%s)", one, one.Fingerprint(), two, two.Fingerprint())
	}
}
