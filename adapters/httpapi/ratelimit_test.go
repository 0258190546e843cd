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

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/registry/registrytest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const rateLimited monitor.Code = "RATE_LIMIT_EXCEEDED"

// openWithin is an API whose clients have budgets.
func openWithin(t *testing.T, create, query int, change ...func(*httpapi.Config)) *gate {
	t.Helper()
	return openOn(t, &registrytest.Store{}, create, query, change...)
}

// openOn is one on a store that others may be on as well.
func openOn(t *testing.T, store *registrytest.Store, create, query int, change ...func(*httpapi.Config)) *gate {
	t.Helper()
	g := &gate{t: t, store: store, crew: &registrytest.WorkerManager{}, courier: &registrytest.TestSender{}}
	service, err := registry.New(g.store, g.crew, registrytest.CallbackPolicy(nil), g.courier, registry.Config{
		NewUUID: func() [16]byte { return uuid.Must(uuid.NewV7()) }, CreatePerMin: create, QueryPerMin: query,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := httpapi.Config{APIKey: aKey, InternalAPIKey: anInnerKey}
	for _, c := range change {
		c(&cfg)
	}
	if g.api, err = httpapi.New(service, func(context.Context) error { return nil }, cfg); err != nil {
		t.Fatal(err)
	}
	return g
}

// isLimited demands a refusal, and after how many seconds to come again.
func (a answer) isLimited(after string) {
	a.t.Helper()
	a.fails(http.StatusTooManyRequests, rateLimited, "requests a minute are allowed", "in "+after+" s")
	if got := a.header.Get("Retry-After"); got != after {
		a.t.Errorf("Retry-After is %q, want %q", got, after)
	}
}

func (a answer) isNotLimited() {
	a.t.Helper()
	if a.status == http.StatusTooManyRequests {
		a.t.Errorf("it is limited: %s", a.body)
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestBudgetTable is section 12.3, row by row.
func TestBudgetTable(t *testing.T) {
	n := 0
	creating := map[string]func(*gate) answer{
		"POST /api/v1/monitors": func(g *gate) answer {
			n++
			return g.post("/api/v1/monitors", strings.Replace(registration, "dQw4w", fmt.Sprintf("%05d", n), 1))
		},
		"POST /api/v1/webhooks/test": func(g *gate) answer { return g.post("/api/v1/webhooks/test", `{`) },
	}
	querying := map[string]func(*gate) answer{
		"GET /api/v1/monitors":             func(g *gate) answer { return g.get("/api/v1/monitors") },
		"GET /api/v1/monitors/{id}":        func(g *gate) answer { return g.get("/api/v1/monitors/" + noSuchID) },
		"GET /api/v1/monitors/{id}/events": func(g *gate) answer { return g.get("/api/v1/monitors/" + noSuchID + "/events") },
		"POST …/events/{id}/redeliver": func(g *gate) answer {
			return g.post("/api/v1/monitors/"+noSuchID+"/events/"+anEvent+"/redeliver", "")
		},
	}
	free := map[string]func(*gate) answer{
		"DELETE /api/v1/monitors/{id}": func(g *gate) answer { return g.delete("/api/v1/monitors/" + noSuchID) },
		"GET /healthz":                 func(g *gate) answer { return g.do(httptestGet("/healthz")) },
		"GET /readyz":                  func(g *gate) answer { return g.do(httptestGet("/readyz")) },
		"GET /openapi.yaml":            func(g *gate) answer { return g.do(httptestGet("/openapi.yaml")) },
		"a path that does not exist":   func(g *gate) answer { return g.get("/api/v1/nothing") },
		"a wrong key": func(g *gate) answer {
			r := httptestGet("/api/v1/monitors")
			r.Header.Set(publicKey, "wrong")
			return g.do(r)
		},
		"GET /internal/v1/monitors/{id}": func(g *gate) answer { return g.get("/internal/v1/monitors/" + noSuchID) },
	}
	for _, row := range []struct {
		name          string
		create, query int
		spend         map[string]func(*gate) answer
		after         string
		others        map[string]func(*gate) answer
	}{
		{"creating", 4, 1000, creating, "15", querying},
		{"querying", 1000, 4, querying, "15", creating},
	} {
		for name, ask := range row.spend {
			t.Run(name+" spends from the budget for "+row.name, func(t *testing.T) {
				g := openWithin(t, row.create, row.query)
				for range 4 {
					ask(g).isNotLimited()
				}
				for name, ask := range row.spend { // all of them share it
					t.Run("and then limited is "+name, func(*testing.T) { ask(g).isLimited(row.after) })
				}
				for name, ask := range row.others {
					t.Run("and then not limited is "+name, func(*testing.T) { ask(g).isNotLimited() })
				}
				for name, ask := range free {
					t.Run("and then not limited is "+name, func(*testing.T) { ask(g).isNotLimited() })
				}
			})
		}
	}
	for name, ask := range free {
		t.Run(name+" spends nothing", func(t *testing.T) {
			g := openWithin(t, 1, 1)
			for range 20 {
				ask(g).isNotLimited()
			}
			g.get("/api/v1/monitors").is(http.StatusOK)
			g.post("/api/v1/monitors", registration).is(http.StatusCreated)
		})
	}
	t.Run("a request beyond the limit has no body read", func(t *testing.T) {
		g := openWithin(t, 1, 1)
		g.post("/api/v1/monitors", registration).is(http.StatusCreated)
		for _, path := range []string{"/api/v1/monitors", "/api/v1/webhooks/test"} {
			g.do(req("POST", path, unread{t})).isLimited("60")
		}
	})
	t.Run("a budget that cannot be counted is a failure and no refusal", func(t *testing.T) {
		g := openWithin(t, 1, 1)
		g.store.Fail = func(context.Context, string) error { return errors.New("the database is gone") }
		a := g.get("/api/v1/monitors")
		a.fails(http.StatusInternalServerError, monitor.Internal)
		if a.header.Get("Retry-After") != "" {
			t.Error("it says when to come again")
		}
	})
}

// TestBudgetsAreOfAClient is decision A5: who asks is a key and an address.
func TestBudgetsAreOfAClient(t *testing.T) {
	type sender struct {
		remote  string
		headers []string // name and value by turns
	}
	from := func(g *gate, s sender) answer {
		r := req("GET", "/api/v1/monitors", nil)
		r.RemoteAddr = s.remote
		for i := 0; i+1 < len(s.headers); i += 2 {
			r.Header.Add(s.headers[i], s.headers[i+1])
		}
		return g.do(r)
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
		"what somebody who is no proxy says of an address is not believed": {
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
		"behind a proxy, what the client itself wrote before is not believed": {
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.1, 203.0.113.1"}}, sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.2, 203.0.113.1"}}, true,
		},
		"behind a proxy that adds a header of its own, the client's is not believed": {
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.1", forwarded, "203.0.113.1"}},
			sender{"10.0.0.1:1111", []string{forwarded, "198.51.100.2", forwarded, "203.0.113.1"}}, true,
		},
		"behind a proxy, other headers are not believed": {
			sender{"10.0.0.1:1111", []string{"X-Real-IP", "198.51.100.1"}}, sender{"10.0.0.1:1111", []string{"X-Real-IP", "198.51.100.2"}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := openWithin(t, 1, 1, func(c *httpapi.Config) { c.TrustedProxies = []string{"10.0.0.0/8"} })
			from(g, c.first).is(http.StatusOK)
			from(g, c.first).isLimited("60")
			if a := from(g, c.second); (a.status == http.StatusTooManyRequests) != c.same {
				t.Errorf("answered with %d: %s", a.status, a.body)
			}
		})
	}
	t.Run("another key is another client", func(t *testing.T) {
		g := openWithin(t, 1, 1)
		g.get("/api/v1/monitors").is(http.StatusOK)
		other := openOn(t, g.store, 1, 1, func(c *httpapi.Config) { c.APIKey = "another key" })
		r := httptestGet("/api/v1/monitors")
		r.Header.Set(publicKey, "another key")
		other.do(r).is(http.StatusOK)
		openOn(t, g.store, 1, 1).get("/api/v1/monitors").isLimited("60")
	})
}

func TestTooManyMonitorsSaysWhenToComeAgain(t *testing.T) {
	g := open(t)
	for _, last := range []string{"A", "B", "C"} {
		g.registers(last)
	}
	a := g.post("/api/v1/monitors", registration)
	a.fails(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
	if after := a.header.Get("Retry-After"); after != "60" {
		t.Errorf("Retry-After is %q", after)
	}
}

// TestLimitExamples holds the document's examples against what is said.
func TestLimitExamples(t *testing.T) {
	for _, send := range []func(*gate) answer{
		func(g *gate) answer { return g.post("/api/v1/monitors", "") },
		func(g *gate) answer { return g.post("/api/v1/webhooks/test", "") },
		func(g *gate) answer { return g.get("/api/v1/monitors") },
	} {
		g := openWithin(t, 10, 100)
		a := send(g)
		for a.status != http.StatusTooManyRequests {
			a = send(g)
		}
		message := a.json()["error"].(map[string]any)["message"].(string)
		if !strings.Contains(string(httpapi.Document()), strconv.Quote(message)) {
			t.Errorf("no example says %q", message)
		}
	}
}
