package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const rateLimited monitor.Code = "RATE_LIMIT_EXCEEDED"

// isRateLimited expects a refusal with the Retry-After of so many seconds.
func (a response) isRateLimited(after string) {
	a.t.Helper()
	a.hasError(http.StatusTooManyRequests, rateLimited, "requests a minute are allowed", "in "+after+" s")
	a.hasHeaders("Retry-After", after)
}

func (a response) isNotRateLimited() {
	a.t.Helper()
	if a.status == http.StatusTooManyRequests {
		a.t.Errorf("the request is rate limited: %s", a.body)
	}
}

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
	api := newTestAPI(t)
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
	a.hasHeaders("Retry-After", "60")
	send(apiKey, used).hasStatus(http.StatusOK)               // another client behind the same proxy
	send(apiKey, fresh).hasStatus(http.StatusTooManyRequests) // a right guess is not told from a wrong one
	send(apiKey, "192.0.2.3").hasStatus(http.StatusOK)
	api.do(newRequestWithoutKey("/api/v1/monitors")).hasStatus(http.StatusUnauthorized) // it guesses nothing
	expect.Equal(t, "lines of the log that name an address", strings.Count(api.log.String(), "too many with a wrong key"), 2)
	api.at = now.Add(time.Minute)
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

func TestEachRateLimitCountsItsRequests(t *testing.T) { // section 12.3
	const most = 8
	creating := []string{"register", "batch", "batch of channels", "register channel", "webhook test", "test destination"}
	neither := []string{"preview", "preview channel", "stop", "stop channel", "thumbnail", "assignment", "report", "return cookies", "note of evidence"}
	spent := map[bool]func(*testAPI) *http.Request{true: request("POST", "/api/v1/webhooks/test", "{}"), false: request("GET", "/api/v1/monitors", "")}
	for _, op := range operations() {
		for creates, ask := range spent {
			t.Run(fmt.Sprintf("%s when what creates is spent: %t", op.name, creates), func(t *testing.T) {
				api := newTestAPI(t, rateLimits(most, most))
				api.unvalidated = true
				r := op.ready(api)
				for range most {
					api.do(ask(api))
				}
				want := creates == slices.Contains(creating, op.name) && !slices.Contains(neither, op.name)
				if a := api.do(r); (a.status == http.StatusTooManyRequests) != want {
					t.Errorf("answered with %d: %s", a.status, a.body)
				}
			})
		}
	}
	t.Run("other requests count as neither", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(1, 1))
		for range 2 {
			api.delete("/api/v1/monitors/" + noSuchID)
			api.get("/api/v1/nothing")
			for _, path := range []string{"/healthz", "/openapi.yaml", "/api/v1/monitors"} {
				api.do(newRequestWithoutKey(path))
			}
		}
		api.get("/api/v1/monitors").hasStatus(http.StatusOK)
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
	})
	t.Run("the body of a refused request is not read", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(1, 1))
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
		for _, path := range []string{"/api/v1/monitors", "/api/v1/webhooks/test"} {
			api.do(newRequest("POST", path, unreadable{t})).isRateLimited("60")
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
					expect.Equal(t, name, send("192.0.2.1:1", cookie).status, http.StatusTooManyRequests)
				}
				send("192.0.2.2:1", second).isNotRateLimited()
			})
		}
	}
}

// TestARateLimitAppliesToOneClient tests decision A5: a client is a key and an address. A sender is an address, and the
// values of X-Forwarded-For that it sends.
func TestARateLimitAppliesToOneClient(t *testing.T) {
	from := func(api *testAPI, sender string) response {
		addresses := strings.Split(sender, " for ")
		r := newRequest("GET", "/api/v1/monitors", nil)
		r.RemoteAddr = addresses[0]
		r.Header["X-Forwarded-For"] = addresses[1:]
		r.Header.Set("X-Real-IP", sender)
		return api.do(r)
	}
	for name, c := range map[string]struct {
		first, second string
		same          bool
	}{
		"another port":                               {"192.0.2.7:1111", "192.0.2.7:2222", true},
		"another address":                            {"192.0.2.7:1111", "192.0.2.8:1111", false},
		"another spelling of an address":             {"192.0.2.7:1111", "[::ffff:192.0.2.7]:1111", true},
		"another address of one IPv6 network":        {"[2001:db8:0:1::1]:1111", "[2001:db8:0:1:ffff:ffff:ffff:ffff]:1111", true},
		"another IPv6 network":                       {"[2001:db8:0:1::1]:1111", "[2001:db8:0:2::1]:1111", false},
		"an address of another zone":                 {"[fe80::1%eth0]:1111", "[fe80::1%eth1]:1111", true},
		"X-Forwarded-For of no trusted proxy":        {"192.0.2.7:1111 for 203.0.113.1", "192.0.2.7:1111 for 203.0.113.2", true},
		"behind a proxy, another address":            {"10.0.0.1:1111 for 203.0.113.1", "10.0.0.1:1111 for 203.0.113.2", false},
		"behind a proxy, another of an IPv6 network": {"10.0.0.1:1111 for 2001:db8::1", "10.0.0.1:1111 for 2001:db8::2", true},
		"behind another proxy, the same address":     {"10.0.0.1:1111 for 2001:db8::1", "10.0.0.2:1111 for 2001:DB8:0::1", true},
		"behind a proxy, another spelling":           {"10.0.0.1:1111 for 203.0.113.1", "10.0.0.1:1111 for ::ffff:203.0.113.1", true},
		"behind a proxy, what the client wrote":      {"10.0.0.1:1111 for 198.51.100.1, 203.0.113.1", "10.0.0.1:1111 for 198.51.100.2, 203.0.113.1", true},
		"behind a proxy that adds its own header":    {"10.0.0.1:1111 for 198.51.100.1 for 203.0.113.1", "10.0.0.1:1111 for 198.51.100.2 for 203.0.113.1", true},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t, rateLimits(1, 1), func(c *testConfig) { c.TrustedProxies = []string{"10.0.0.0/8"} })
			from(api, c.first).hasStatus(http.StatusOK)
			from(api, c.first).isRateLimited("60")
			if a := from(api, c.second); (a.status == http.StatusTooManyRequests) != c.same {
				t.Errorf("answered with %d: %s", a.status, a.body)
			}
		})
	}
	t.Run("another key is another client", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(1, 1))
		api.get("/api/v1/monitors").hasStatus(http.StatusOK)
		other := newTestAPI(t, rateLimits(1, 1), besides(api, "another key"))
		r := newRequestWithoutKey("/api/v1/monitors")
		r.Header.Set(publicKeyHeader, "another key")
		other.do(r).hasStatus(http.StatusOK)
		newTestAPI(t, rateLimits(1, 1), besides(api, "")).get("/api/v1/monitors").isRateLimited("60")
	})
}
