package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const rateLimited monitor.Code = "RATE_LIMIT_EXCEEDED"

// newTestAPIWithLimits makes an API with these rate limits per minute; 0: none.
func newTestAPIWithLimits(t *testing.T, create, query int, change ...func(*httpapi.Config)) *testAPI {
	t.Helper()
	return newTestAPIOnStore(t, &monitorstest.Store{}, create, query, change...)
}

// newTestAPIOnStore makes an API on a store that other APIs may share.
func newTestAPIOnStore(t *testing.T, store *monitorstest.Store, create, query int, change ...func(*httpapi.Config)) *testAPI {
	t.Helper()
	api := &testAPI{t: t, store: store, workers: &monitorstest.WorkerManager{}, sender: &monitorstest.TestSender{}}
	service, err := monitors.NewServices(api.store, api.workers, monitorstest.CallbackPolicy(nil), api.sender, monitors.Config{
		NewUUID: func() [16]byte { return uuid.Must(uuid.NewV7()) }, CreatePerMin: create, QueryPerMin: query,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := httpapi.Config{APIKey: apiKey, InternalAPIKey: internalAPIKey}
	for _, c := range change {
		c(&cfg)
	}
	if api.handlers, err = httpapi.New(httpapi.Services{Monitors: service, Routing: &routing.Services{}, Workers: intake.NewWorkerService(api.store, api.workers, nil, nil)}, func(context.Context) error { return nil }, cfg); err != nil {
		t.Fatal(err)
	}
	return api
}

// isRateLimited expects a refusal with the Retry-After of so many seconds.
func (a response) isRateLimited(after string) {
	a.t.Helper()
	a.hasError(http.StatusTooManyRequests, rateLimited, "requests a minute are allowed", "in "+after+" s")
	if got := a.header.Get("Retry-After"); got != after {
		a.t.Errorf("Retry-After is %q, want %q", got, after)
	}
}

func (a response) isNotRateLimited() {
	a.t.Helper()
	if a.status == http.StatusTooManyRequests {
		a.t.Errorf("the request is rate limited: %s", a.body)
	}
}

// unreadableBody is a body that must not be read.
type unreadableBody struct{ t *testing.T }

func (u unreadableBody) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestEachRateLimitCountsItsRequests tests section 12.3, row by row.
// guessKeys sends as many wrong keys as an address may send in a minute.
func (api *testAPI) guessKeys() {
	api.t.Helper()
	api.unvalidated = true // comparing each with openapi.yaml takes seconds
	defer func() { api.unvalidated = false }()
	for range 60 {
		r := newRequestWithoutKey("/api/v1/monitors")
		r.Header.Set(publicKeyHeader, "guess")
		api.do(r).hasError(http.StatusUnauthorized, monitor.Unauthorized)
	}
}

func TestRequestsWithAWrongKeyAreLimitedByAddress(t *testing.T) { // section 12.1
	clock := now
	api := newTestAPI(t, func(c *httpapi.Config) { c.Now = func() time.Time { return clock } })
	send := func(key, from string) response {
		r := newRequestWithoutKey("/api/v1/monitors")
		r.RemoteAddr = from + ":1234"
		r.Header.Set(publicKeyHeader, key)
		return api.do(r)
	}
	const used, fresh = "192.0.2.1", "192.0.2.2"
	send(apiKey, used).hasStatus(http.StatusOK)
	for range 60 {
		send("guess", used).hasStatus(http.StatusUnauthorized)
		send("guess", fresh).hasStatus(http.StatusUnauthorized)
	}
	a := send("guess", used)
	a.hasError(http.StatusTooManyRequests, monitor.RateLimitExceeded, "wrong key")
	if a.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	send(apiKey, used).hasStatus(http.StatusOK)               // another client behind the same proxy
	send(apiKey, fresh).hasStatus(http.StatusTooManyRequests) // a right guess is not told from a wrong one
	send(apiKey, "192.0.2.3").hasStatus(http.StatusOK)
	api.do(newRequestWithoutKey("/api/v1/monitors")).hasStatus(http.StatusUnauthorized) // it guesses nothing
	if lines := strings.Count(api.log.String(), "too many with a wrong key"); lines != 2 {
		t.Errorf("%d lines of the log name an address, want 2", lines)
	}
	clock = clock.Add(time.Minute)
	send(apiKey, fresh).hasStatus(http.StatusOK)
	send("guess", used).hasStatus(http.StatusUnauthorized)
}

func TestWrongKeysOfWorkersAreNotLimited(t *testing.T) { // all workers of a host have one address
	api := newTestAPI(t)
	for range 100 {
		r := newRequestWithoutKey("/internal/v1/monitors/" + noSuchID)
		r.Header.Set(internalKeyHeader, "old")
		api.do(r).hasStatus(http.StatusUnauthorized)
	}
}

func TestEachRateLimitCountsItsRequests(t *testing.T) {
	n := 0
	creating := map[string]func(*testAPI) response{
		"POST /api/v1/monitors": func(api *testAPI) response {
			n++
			return api.post("/api/v1/monitors", strings.Replace(registration, "dQw4w", fmt.Sprintf("%05d", n), 1))
		},
		"POST /api/v1/webhooks/test": func(api *testAPI) response { return api.post("/api/v1/webhooks/test", `{`) },
	}
	querying := map[string]func(*testAPI) response{
		"GET /api/v1/monitors":             func(api *testAPI) response { return api.get("/api/v1/monitors") },
		"GET /api/v1/monitors/{id}":        func(api *testAPI) response { return api.get("/api/v1/monitors/" + noSuchID) },
		"GET /api/v1/monitors/{id}/events": func(api *testAPI) response { return api.get("/api/v1/monitors/" + noSuchID + "/events") },
		"POST …/events/{id}/redeliver": func(api *testAPI) response {
			return api.post("/api/v1/monitors/"+noSuchID+"/events/"+eventID+"/redeliver", "")
		},
	}
	free := map[string]func(*testAPI) response{
		"DELETE /api/v1/monitors/{id}": func(api *testAPI) response { return api.delete("/api/v1/monitors/" + noSuchID) },
		"GET /healthz":                 func(api *testAPI) response { return api.do(newRequestWithoutKey("/healthz")) },
		"GET /readyz":                  func(api *testAPI) response { return api.do(newRequestWithoutKey("/readyz")) },
		"GET /openapi.yaml":            func(api *testAPI) response { return api.do(newRequestWithoutKey("/openapi.yaml")) },
		"a path that does not exist":   func(api *testAPI) response { return api.get("/api/v1/nothing") },
		"a wrong key": func(api *testAPI) response {
			r := newRequestWithoutKey("/api/v1/monitors")
			r.Header.Set(publicKeyHeader, "wrong")
			return api.do(r)
		},
		"GET /internal/v1/monitors/{id}": func(api *testAPI) response { return api.get("/internal/v1/monitors/" + noSuchID + "?generation=1") },
	}
	for _, row := range []struct {
		name          string
		create, query int
		spend         map[string]func(*testAPI) response
		after         string
		others        map[string]func(*testAPI) response
	}{
		{"creating", 4, 1000, creating, "15", querying},
		{"querying", 1000, 4, querying, "15", creating},
	} {
		for name, ask := range row.spend {
			t.Run(name+" counts against the rate limit of "+row.name, func(t *testing.T) {
				api := newTestAPIWithLimits(t, row.create, row.query)
				for range 4 {
					ask(api).isNotRateLimited()
				}
				for name, ask := range row.spend { // all of them share it
					t.Run("then limits "+name, func(*testing.T) { ask(api).isRateLimited(row.after) })
				}
				for name, ask := range row.others {
					t.Run("then does not limit "+name, func(*testing.T) { ask(api).isNotRateLimited() })
				}
				for name, ask := range free {
					t.Run("then does not limit "+name, func(*testing.T) { ask(api).isNotRateLimited() })
				}
			})
		}
	}
	for name, ask := range free {
		t.Run(name+" counts against no rate limit", func(t *testing.T) {
			api := newTestAPIWithLimits(t, 1, 1)
			for range 20 {
				ask(api).isNotRateLimited()
			}
			api.get("/api/v1/monitors").hasStatus(http.StatusOK)
			api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
		})
	}
	t.Run("the body of a refused request is not read", func(t *testing.T) {
		api := newTestAPIWithLimits(t, 1, 1)
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
		for _, path := range []string{"/api/v1/monitors", "/api/v1/webhooks/test"} {
			api.do(newRequest("POST", path, unreadableBody{t})).isRateLimited("60")
		}
	})
	t.Run("a rate limit that cannot be counted is answered with 500", func(t *testing.T) {
		api := newTestAPIWithLimits(t, 1, 1)
		api.store.Fail = func(context.Context, string) error { return errors.New("the database is gone") }
		a := api.get("/api/v1/monitors")
		a.hasError(http.StatusInternalServerError, monitor.Internal)
		if a.header.Get("Retry-After") != "" {
			t.Error("Retry-After is sent")
		}
	})
}

// TestSigningInAgainGivesNoFurtherRegistrations tests decision A5: sessions of a key share what creates
// and previews.
func TestSigningInAgainGivesNoFurtherRegistrations(t *testing.T) {
	for _, key := range []string{apiKey, "the secret of key 1"} {
		for _, path := range []string{"/api/v1/preview", "/api/v1/webhooks/test", "/api/v1/monitors"} {
			t.Run(path+" with "+key, func(t *testing.T) {
				api := newTestAPI(t)
				api.unvalidated = true
				api.createKey("ann", "operate")
				send := func(address string, cookie *http.Cookie) response {
					r := newRequest("POST", path, strings.NewReader("{}"))
					r.RemoteAddr = address
					r.Header.Set(publicKeyHeader, key)
					if cookie != nil {
						r.Header.Del(publicKeyHeader)
						r.AddCookie(cookie)
					}
					return api.do(r)
				}
				signedIn := func() *http.Cookie { return api.signInWith(key, "").hasStatus(http.StatusNoContent).cookie() }
				first, second := signedIn(), signedIn()
				for range requestsPerMin {
					send("192.0.2.1:1", first).isNotRateLimited()
				}
				for name, cookie := range map[string]*http.Cookie{"another session": second, "the key": nil} {
					if a := send("192.0.2.1:1", cookie); a.status != http.StatusTooManyRequests {
						t.Errorf("%s: status %d, want 429", name, a.status)
					}
				}
				send("192.0.2.2:1", second).isNotRateLimited()
			})
		}
	}
}

// TestARateLimitAppliesToOneClient tests decision A5: a client is a key and an address.
func TestARateLimitAppliesToOneClient(t *testing.T) {
	type sender struct {
		remote  string
		headers []string // name and value by turns
	}
	from := func(api *testAPI, s sender) response {
		r := newRequest("GET", "/api/v1/monitors", nil)
		r.RemoteAddr = s.remote
		for i := 0; i+1 < len(s.headers); i += 2 {
			r.Header.Add(s.headers[i], s.headers[i+1])
		}
		return api.do(r)
	}
	const forwarded = "X-Forwarded-For"
	for name, c := range map[string]struct {
		first, second sender
		same          bool
	}{
		"another port is the same client": {
			sender{"192.0.2.7:1111", nil}, sender{"192.0.2.7:2222", nil}, true,
		},
		"another address is another client": {
			sender{"192.0.2.7:1111", nil}, sender{"192.0.2.8:1111", nil}, false,
		},
		"another spelling of an address is the same client": {
			sender{"192.0.2.7:1111", nil}, sender{"[::ffff:192.0.2.7]:1111", nil}, true,
		},
		"another address of one IPv6 network is the same client": {
			sender{"[2001:db8:0:1::1]:1111", nil}, sender{"[2001:db8:0:1:ffff:ffff:ffff:ffff]:1111", nil}, true,
		},
		"another IPv6 network is another client": {
			sender{"[2001:db8:0:1::1]:1111", nil}, sender{"[2001:db8:0:2::1]:1111", nil}, false,
		},
		"an address of another zone is the same client": {
			sender{"[fe80::1%eth0]:1111", nil}, sender{"[fe80::1%eth1]:1111", nil}, true,
		},
		"behind a proxy, another address of one IPv6 network is the same client": {
			sender{"10.0.0.1:1111", []string{forwarded, "2001:db8::1"}}, sender{"10.0.0.1:1111", []string{forwarded, "2001:db8::2"}}, true,
		},
		"X-Forwarded-For is ignored unless a trusted proxy sent it": {
			sender{"192.0.2.7:1111", []string{forwarded, "203.0.113.1"}}, sender{"192.0.2.7:1111", []string{forwarded, "203.0.113.2"}}, true,
		},
		"behind a proxy, another address is another client": {
			sender{"10.0.0.1:1111", []string{forwarded, "203.0.113.1"}}, sender{"10.0.0.1:1111", []string{forwarded, "203.0.113.2"}}, false,
		},
		"behind another proxy, the same address is the same client": {
			sender{"10.0.0.1:1111", []string{forwarded, "2001:db8::1"}}, sender{"10.0.0.2:1111", []string{forwarded, "2001:DB8:0::1"}}, true,
		},
		"behind a proxy, another spelling of an address is the same client": {
			sender{"10.0.0.1:1111", []string{forwarded, "203.0.113.1"}}, sender{"10.0.0.1:1111", []string{forwarded, "::ffff:203.0.113.1"}}, true,
		},
		"behind a proxy, the address that the client wrote is ignored": {
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.1, 203.0.113.1"}}, sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.2, 203.0.113.1"}}, true,
		},
		"behind a proxy that adds its own header, the client's header is ignored": {
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.1", forwarded, "203.0.113.1"}},
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.2", forwarded, "203.0.113.1"}}, true,
		},
		"behind a proxy, other headers are ignored": {
			sender{"10.0.0.1:1111", []string{"X-Real-IP", "198.51.100.1"}}, sender{"10.0.0.1:1111", []string{"X-Real-IP", "198.51.100.2"}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPIWithLimits(t, 1, 1, func(c *httpapi.Config) { c.TrustedProxies = []string{"10.0.0.0/8"} })
			from(api, c.first).hasStatus(http.StatusOK)
			from(api, c.first).isRateLimited("60")
			if a := from(api, c.second); (a.status == http.StatusTooManyRequests) != c.same {
				t.Errorf("answered with %d: %s", a.status, a.body)
			}
		})
	}
	t.Run("another key is another client", func(t *testing.T) {
		api := newTestAPIWithLimits(t, 1, 1)
		api.get("/api/v1/monitors").hasStatus(http.StatusOK)
		other := newTestAPIOnStore(t, api.store, 1, 1, func(c *httpapi.Config) { c.APIKey = "another key" })
		r := newRequestWithoutKey("/api/v1/monitors")
		r.Header.Set(publicKeyHeader, "another key")
		other.do(r).hasStatus(http.StatusOK)
		newTestAPIOnStore(t, api.store, 1, 1).get("/api/v1/monitors").isRateLimited("60")
	})
}

func TestTheMaximumOfMonitorsIsAnsweredWithRetryAfter(t *testing.T) {
	api := newTestAPI(t)
	for _, last := range []string{"A", "B", "C"} {
		api.register(last)
	}
	a := api.post("/api/v1/monitors", registration)
	a.hasError(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
	if after := a.header.Get("Retry-After"); after != "60" {
		t.Errorf("Retry-After is %q", after)
	}
}

func TestTheRateLimitExamplesShowTheRealMessages(t *testing.T) {
	for _, send := range []func(*testAPI) response{
		func(api *testAPI) response { return api.post("/api/v1/monitors", "") },
		func(api *testAPI) response { return api.post("/api/v1/webhooks/test", "") },
		func(api *testAPI) response { return api.get("/api/v1/monitors") },
	} {
		api := newTestAPIWithLimits(t, 10, 100)
		a := send(api)
		for a.status != http.StatusTooManyRequests {
			a = send(api)
		}
		message := a.json()["error"].(map[string]any)["message"].(string)
		if !strings.Contains(string(httpapi.Document()), strconv.Quote(message)) {
			t.Errorf("no example says %q", message)
		}
	}
}
