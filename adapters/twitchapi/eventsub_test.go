package twitchapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// helix is a server of the API with one answer to each METHOD PATH?QUERY.
func helix(t *testing.T, answers map[string]answer) (client *twitchapi.Client, asked func() []string) {
	t.Helper()
	var requests []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, token("t1", 5_000_000).body) })
	mux.HandleFunc("/helix/", func(w http.ResponseWriter, r *http.Request) {
		at := r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/helix/")
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, strings.TrimSpace(at+" "+string(body)))
		a := answers[at]
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := server.Client()
	t.Cleanup(c.CloseIdleConnections)
	return twitchapi.NewAt(server.URL+"/helix", server.URL+"/token", c, clientID, secret), func() []string { defer func() { requests = nil }(); return requests }
}

func TestTheQuestionsOfEventSub(t *testing.T) { // S28
	ok := func(body string) answer { return answer{status: 200, body: body} }
	client, asked := helix(t, map[string]answer{
		"GET users?login=one&login=two":         ok(`{"data":[{"id":"7","login":"one"}]}`),
		"GET eventsub/subscriptions?":           ok(`{"data":[{"id":"a","status":"enabled","type":"stream.online","cost":1,"condition":{"broadcaster_user_id":"7"},"transport":{"method":"conduit","conduit_id":"c"}}],"total_cost":1,"max_total_cost":10,"pagination":{"cursor":"next"}}`),
		"GET eventsub/subscriptions?after=next": ok(`{"data":[{"id":"b","status":"webhook_callback_verification_failed","type":"stream.offline","cost":0,"condition":{"broadcaster_user_id":"7"},"transport":{"method":"webhook","callback":"https://g.example/"}}],"total_cost":1,"max_total_cost":10,"pagination":{}}`),
		"POST eventsub/subscriptions":           {status: 202, body: `{"data":[]}`},
		"DELETE eventsub/subscriptions?id=a":    {status: 204},
		"GET eventsub/conduits":                 ok(`{"data":[{"id":"c","shard_count":1},{"id":"d","shard_count":5}]}`),
		"POST eventsub/conduits":                ok(`{"data":[{"id":"e","shard_count":1}]}`),
		"PATCH eventsub/conduits/shards":        {status: 202, body: `{"data":[{"id":"0","status":"enabled"}],"errors":[]}`},
	})
	expect.Equal(t, "the ids", must.Get(client.UserIDs(t.Context(), []string{"one", "two"}))(t), map[string]string{"one": "7"})
	expect.Equal(t, "the subscriptions", must.Get(client.Subscriptions(t.Context()))(t), eventsub.Existing{Cost: 1, MaxCost: 10, Subscriptions: []eventsub.Subscription{
		{ID: "a", Key: eventsub.Key{Type: eventsub.Online, UserID: "7"}, Status: "enabled", Cost: 1, Transport: eventsub.Transport{Conduit: "c"}},
		{ID: "b", Key: eventsub.Key{Type: eventsub.Offline, UserID: "7"}, Status: "webhook_callback_verification_failed", Transport: eventsub.Transport{Callback: "https://g.example/"}},
	}})
	expect.Equal(t, "the conduits", must.Get(client.Conduits(t.Context()))(t), []string{"c", "d"})
	expect.Equal(t, "the new conduit", must.Get(client.CreateConduit(t.Context()))(t), "e")
	asked()
	must.Do(t, client.Subscribe(t.Context(), eventsub.Key{Type: eventsub.Online, UserID: "7"}, eventsub.Transport{Conduit: "c"}, ""))
	must.Do(t, client.Subscribe(t.Context(), eventsub.Key{Type: eventsub.Offline, UserID: "7"}, eventsub.Transport{Callback: "https://g.example/"}, "0123456789"))
	must.Do(t, client.Unsubscribe(t.Context(), "a"))
	must.Do(t, client.AssignShard(t.Context(), "c", "session"))
	expect.Equal(t, "the requests that change something", asked(), []string{
		`POST eventsub/subscriptions {"condition":{"broadcaster_user_id":"7"},"transport":{"method":"conduit","conduit_id":"c"},"type":"stream.online","version":"1"}`,
		`POST eventsub/subscriptions {"condition":{"broadcaster_user_id":"7"},"transport":{"method":"webhook","callback":"https://g.example/","secret":"0123456789"},"type":"stream.offline","version":"1"}`,
		`DELETE eventsub/subscriptions?id=a`,
		`PATCH eventsub/conduits/shards {"conduit_id":"c","shards":[{"id":"0","transport":{"method":"websocket","session_id":"session"}}]}`,
	})
}

func TestWhatEventSubRefuses(t *testing.T) { // S28
	subscribe := func(c *twitchapi.Client) error {
		return c.Subscribe(t.Context(), eventsub.Key{Type: eventsub.Online, UserID: "7"}, eventsub.Transport{Conduit: "c"}, "")
	}
	unsubscribe := func(c *twitchapi.Client) error { return c.Unsubscribe(t.Context(), "a") }
	assign := func(c *twitchapi.Client) error { return c.AssignShard(t.Context(), "c", "session") }
	create := func(c *twitchapi.Client) error { _, err := c.CreateConduit(t.Context()); return err }
	list := func(c *twitchapi.Client) error { _, err := c.Subscriptions(t.Context()); return err }
	const subscriptions, shards, conduits = "POST eventsub/subscriptions", "PATCH eventsub/conduits/shards", "POST eventsub/conduits"
	for name, c := range map[string]struct {
		do     func(*twitchapi.Client) error
		at     string
		answer answer
		status int // of the Refusal; 0: it is none
		says   string
	}{
		"one that exists":            {subscribe, subscriptions, refusal(409, "subscription already exists"), 0, ""},
		"one that is gone":           {unsubscribe, "DELETE eventsub/subscriptions?id=a", refusal(404, "subscription was not found"), 0, ""},
		"too many calls":             {subscribe, subscriptions, refusal(429, "Too Many Requests"), 429, "Too Many Requests"},
		"a user who may not":         {subscribe, subscriptions, refusal(403, "subscription missing proper authorization"), 403, "authorization"},
		"too many conduits":          {create, conduits, refusal(429, "conduit limit reached"), 429, "conduit limit reached"},
		"no conduit in the answer":   {create, conduits, answer{status: 200, body: `{"data":[]}`}, 0, "names no conduit"},
		"a session that is gone":     {assign, shards, answer{status: 202, body: `{"data":[],"errors":[{"id":"0","message":"The session is disconnected","code":"websocket_session_not_found"}]}`}, 0, "The session is disconnected"},
		"a conduit that is gone":     {assign, shards, refusal(404, "conduit not found"), 404, "conduit not found"},
		"an answer of somebody else": {list, "GET eventsub/subscriptions?", answer{status: 200, body: "<html>"}, 0, "none of EventSub"},
		"a refusal of somebody else": {subscribe, subscriptions, answer{status: 403, body: "<html>"}, 403, "none of the API"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := helix(t, map[string]answer{c.at: c.answer})
			err := c.do(client)
			if c.says == "" {
				expect.Equal(t, "the error", err, nil)
				return
			}
			expect.Failure(t, err, c.says)
			got := 0
			if r, is := errors.AsType[*pushes.Refusal](err); is {
				got = r.Status
			}
			expect.Equal(t, "the status", got, c.status)
		})
	}
}

func TestARefusalWhilePointsAreLeftHoldsBackNoOtherCall(t *testing.T) { // S28
	full := refusal(429, "total cost exceeded")
	full.header = map[string]string{"Ratelimit-Limit": "800", "Ratelimit-Remaining": "700", "Ratelimit-Reset": "1"}
	client, _ := helix(t, map[string]answer{"POST eventsub/subscriptions": full, "GET users?login=one": {status: 200, body: `{"data":[]}`}})
	expect.Failure(t, client.Subscribe(t.Context(), eventsub.Key{Type: eventsub.Online, UserID: "7"}, eventsub.Transport{Conduit: "c"}, ""), "total cost exceeded")
	_, err := client.UserIDs(t.Context(), []string{"one"})
	expect.Equal(t, "the next call", fmt.Sprint(err), "<nil>")
}
