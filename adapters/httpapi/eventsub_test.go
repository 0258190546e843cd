package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const eventSubSecret eventsub.Secret = "the secret of webhooks of Twitch"

// eventSub is a message of Twitch, signed by a secret.
type eventSub struct {
	id, kind, at, body string
	secret             eventsub.Secret
}

// startOf returns the message that a login has begun, as Twitch sends it now.
func startOf(login string) eventSub {
	return eventSub{"m1", "notification", now.Format(time.RFC3339Nano), fmt.Sprintf(`{"subscription":{"id":"s","type":"stream.online","version":"1","status":"enabled","condition":{"broadcaster_user_id":"7"}},`+
		`"event":{"id":"9","broadcaster_user_id":"7","broadcaster_user_login":%q,"type":"live"}}`, login), eventSubSecret}
}

// verification returns the message that asks for its challenge.
func verification() eventSub {
	m := startOf("one")
	m.id, m.kind, m.body = "m2", "webhook_callback_verification", strings.Replace(m.body, `{"sub`, `{"challenge":"pogchamp-kappa-360noscope-vohiyo","sub`, 1)
	return m
}

// revocation returns the message that a subscription has ended.
func revocation() eventSub {
	m := startOf("one")
	m.id, m.kind, m.body = "m3", "revocation", strings.Replace(m.body, `enabled`, `user_removed`, 1)
	return m
}

// but returns the message with another body, or another of its fields, before it is signed.
func (m eventSub) but(change func(*eventSub)) eventSub {
	change(&m)
	return m
}

func (m eventSub) request(*testAPI) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/eventsub/twitch", strings.NewReader(m.body))
	mac := hmac.New(sha256.New, []byte(m.secret))
	_, _ = mac.Write([]byte(m.id + m.at + m.body))
	for name, value := range map[string]string{"Id": m.id, "Type": m.kind, "Timestamp": m.at, "Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))} {
		r.Header.Set("Twitch-Eventsub-Message-"+name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

// eventSubCases are the responses to webhooks of Twitch.
func eventSubCases() []responseCase {
	genuine := startOf("one").request
	field := func(name, value string) func(*testAPI) *http.Request {
		return with(genuine, withHeader("Twitch-Eventsub-Message-"+name, value))
	}
	return append(brokenCases("message of Twitch", genuine, (*testAPI).breakStores),
		responseCase{"message of Twitch", 204, genuine},
		responseCase{"challenge of Twitch", 200, verification().request},
		responseCase{"message of Twitch that is no JSON", 400, startOf("one").but(func(m *eventSub) { m.body = "hello" }).request},
		responseCase{"message of somebody else", 403, field("Signature", "sha256=00")},
		responseCase{"message that does not arrive", 408, with(genuine, withStalledBody)},
		responseCase{"message that is too large", 413, with(genuine, withLargeBody)},
		responseCase{"message of another type", 415, with(genuine, withHeader("Content-Type", "text/plain"))},
		responseCase{"message after too many wrong ones", 429, after(func(api *testAPI) {
			for range 60 {
				api.do(field("Signature", "sha256=00")(api))
			}
		}, field("Signature", "sha256=00"))})
}

// changed changes a request after it was signed.
func changed(m eventSub, change func(*http.Request)) func(*testAPI) *http.Request {
	return func(api *testAPI) *http.Request {
		r := m.request(api)
		change(r)
		return r
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Twitch-Eventsub-Message-"+name, value) }
}

// replaced replaces the body of a message after it was signed.
func replaced(m eventSub, text string) func(*testAPI) *http.Request {
	return changed(m, func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	})
}

// registerTwitch registers a monitor of a login.
func (api *testAPI) registerTwitch(login string) monitor.ID {
	api.t.Helper()
	a := api.post("/api/v1/monitors", strings.Replace(registration, streamURL, eventsub.URL(login), 1)).hasStatus(http.StatusCreated)
	return monitor.ID(a.json()["monitor_id"].(string))
}

func TestForgedAndReplayedMessagesOfTwitchDoNothing(t *testing.T) { // S28
	first := startOf("one")
	other := func(change func(*eventSub)) eventSub {
		return first.but(func(m *eventSub) { m.id = "m4"; change(m) })
	}
	sent := func(d time.Duration) func(*eventSub) {
		return func(m *eventSub) { m.at = now.Add(d).Format(time.RFC3339Nano) }
	}
	in := func(from, to string) func(*eventSub) {
		return func(m *eventSub) { m.body = strings.Replace(m.body, from, to, 1) }
	}
	fresh := other(func(*eventSub) {})
	for name, c := range map[string]struct {
		request func(*testAPI) *http.Request
		status  int
		stored  int // messages, beside the first
	}{
		"another secret":               {other(func(m *eventSub) { m.secret = "a secret of somebody else" }).request, 403, 0},
		"no secret":                    {other(func(m *eventSub) { m.secret = "" }).request, 403, 0},
		"a signature over other bytes": {replaced(fresh, strings.Replace(fresh.body, "one", "two", 1)), 403, 0},
		"the body encoded anew":        {replaced(fresh, strings.ReplaceAll(fresh.body, `":`, `": `)), 403, 0},
		"a signature of another id":    {changed(fresh, header("Id", "m5")), 403, 0},
		"a signature of another time":  {changed(fresh, header("Timestamp", now.Add(time.Second).Format(time.RFC3339Nano))), 403, 0},
		"no signature":                 {changed(fresh, func(r *http.Request) { r.Header.Del("Twitch-Eventsub-Message-Signature") }), 403, 0},
		"an empty signature":           {changed(fresh, header("Signature", "sha256=")), 403, 0},
		"a signature by another algorithm": {changed(fresh, func(r *http.Request) {
			header("Signature", strings.Replace(r.Header.Get("Twitch-Eventsub-Message-Signature"), "256", "1", 1))(r)
		}), 403, 0},
		"no id":                                  {other(func(m *eventSub) { m.id = "" }).request, 403, 0},
		"no time":                                {other(func(m *eventSub) { m.at = "" }).request, 403, 0},
		"a time that is none":                    {other(func(m *eventSub) { m.at = "today" }).request, 403, 0},
		"a message of 10 minutes ago":            {other(sent(-10*time.Minute - time.Second)).request, 403, 0},
		"a message of 10 minutes from now":       {other(sent(10*time.Minute + time.Second)).request, 403, 0},
		"the same again":                         {first.request, 204, 0},
		"the id and signature with another body": {replaced(first, strings.Replace(first.body, "stream.online", "stream.offline", 1)), 403, 0},
		"the id with another body, signed":       {first.but(in("stream.online", "stream.offline")).request, 204, 0},
		"a forged challenge":                     {verification().but(func(m *eventSub) { m.secret = "x" }).request, 403, 0},
		"a forged revocation":                    {revocation().but(func(m *eventSub) { m.secret = "x" }).request, 403, 0},

		"a type of message that is not known":      {other(func(m *eventSub) { m.kind = "news" }).request, 204, 1},
		"a type of subscription that is not known": {other(in("stream.online", "channel.update")).request, 204, 1},
		"a login that nobody watches":              {other(in(`"one"`, `"nobody"`)).request, 204, 1},
		"a rerun":                                  {other(in(`"live"`, `"rerun"`)).request, 204, 1},
		"an event of another broadcaster":          {other(in(`"event":{"id":"9","broadcaster_user_id":"7"`, `"event":{"id":"9","broadcaster_user_id":"8"`)).request, 400, 0},
		"no subscription":                          {other(func(m *eventSub) { m.body = `{}` }).request, 400, 0},
		"a challenge that is missing":              {verification().but(in("pogchamp-kappa-360noscope-vohiyo", "")).request, 400, 0},
		"no JSON":                                  {other(func(m *eventSub) { m.body = "hello" }).request, 400, 0},
		"an id that is too long":                   {other(func(m *eventSub) { m.id = strings.Repeat("m", 129) }).request, 400, 0},
		"a body that is too large":                 {other(func(m *eventSub) { m.body += strings.Repeat(" ", eventsub.MaxBody) }).request, 413, 0},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			api.unvalidated = true // what is missing is refused by the gateway, not by the document
			id := api.registerTwitch("one")
			api.do(first.request(api)).hasStatus(204)
			api.db.Exec(t, `UPDATE official_states SET asked_at = '2020-01-01', status = 'upcoming'`)
			got := api.do(c.request(api)).hasStatus(c.status)
			if c.status == 403 && strings.Contains(string(got.body), "pogchamp") {
				t.Errorf("the challenge is in the answer %s", got.body)
			}
			expect.Equal(t, "messages that are stored", api.db.Count(t, `SELECT count(*) FROM eventsub_messages`), 1+c.stored)
			expect.Equal(t, "workers that ask", api.db.Count(t, `SELECT count(*) FROM official_states WHERE monitor_id = $1 AND asked_at > '2020-01-02'`, id), 0)
		})
	}
}

func TestMessagesOfTwitchAreTakenWhateverElseComesFromTheirAddress(t *testing.T) { // S28
	api := newTestAPI(t)
	one := api.registerTwitch("one")
	forged := startOf("one").but(func(m *eventSub) { m.secret = "x" })
	for range 60 {
		api.do(forged.request(api)).hasStatus(403)
	}
	api.do(forged.request(api)).hasStatus(429)
	api.do(startOf("one").request(api)).hasStatus(204)
	expect.Equal(t, "workers that ask", api.db.Count(t, `SELECT count(*) FROM official_states WHERE monitor_id = $1 AND status = 'live'`, one), 1)

	answer := api.do(verification().request(api)).hasStatus(200)
	expect.Equal(t, "the answer to a challenge", string(answer.body), "pogchamp-kappa-360noscope-vohiyo")
	expect.Equal(t, "its type", answer.header.Get("Content-Type"), "text/plain; charset=utf-8")
	expect.Equal(t, "the same again", string(api.do(verification().request(api)).hasStatus(200).body), "pogchamp-kappa-360noscope-vohiyo")
	api.do(revocation().request(api)).hasStatus(204)
	expect.Text(t, "the log", api.log.String(), "Twitch has revoked a subscription", "user_removed", "too many with a wrong signature")
}
