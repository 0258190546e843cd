package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestKeys(t *testing.T) {
	t.Run("are needed on every described path but three, and on paths that do not exist", func(t *testing.T) {
		g := open(t)
		open := map[string]bool{"/healthz": true, "/readyz": true, "/openapi.yaml": true}
		tried := 0
		for path, item := range document(t).doc.Paths.Map() {
			for method := range item.Operations() {
				path := strings.NewReplacer("{monitor_id}", noSuchID, "{event_id}", anEvent).Replace(path)
				a := g.do(httptest.NewRequest(method, path, nil))
				if open[path] != (a.status != http.StatusUnauthorized) {
					t.Errorf("%s %s without a key answers %d", method, path, a.status)
				}
				tried++
			}
		}
		if tried < 12 {
			t.Errorf("only %d paths were tried", tried)
		}
		for _, path := range []string{"/", "/api/v1", "/metrics", "/internal/v1/monitors", "/healthz/", "//healthz"} {
			g.do(httptest.NewRequest(http.MethodGet, "http://host"+path, nil)).fails(http.StatusUnauthorized, monitor.Unauthorized)
		}
	})
	for name, given := range map[string]string{
		"a wrong key": "guess", "an empty key": "", "the beginning of the key": aKey[:5], "the key and more": aKey + "x", "the internal key": anInnerKey,
	} {
		t.Run("the public API refuses "+name, func(t *testing.T) {
			r := httptestGet("/api/v1/monitors")
			r.Header.Set(publicKey, given)
			a := open(t).do(r)
			a.fails(http.StatusUnauthorized, monitor.Unauthorized, "X-API-Key")
			if a.header.Get("WWW-Authenticate") == "" {
				t.Error("WWW-Authenticate is missing")
			}
		})
	}
	t.Run("the internal API refuses the public key", func(t *testing.T) {
		r := httptestGet("/internal/v1/monitors/" + noSuchID)
		r.Header.Set(publicKey, aKey)
		r.Header.Set(internalKey, aKey)
		open(t).do(r).fails(http.StatusUnauthorized, monitor.Unauthorized, "X-Internal-API-Key")
	})
	t.Run("the two APIs are on separate handlers", func(t *testing.T) {
		api := open(t).api
		for handler, path := range map[http.Handler]string{api.Public(): "/internal/v1/monitors/" + noSuchID, api.Internal(): "/api/v1/monitors"} {
			r := httptestGet(path)
			r.Header.Set(publicKey, aKey)
			r.Header.Set(internalKey, anInnerKey)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "ROUTE_NOT_FOUND") {
				t.Errorf("%s answers %d %s", path, w.Code, w.Body)
			}
		}
	})
	for name, change := range map[string]func(*httpapi.Config){
		"no public key":    func(c *httpapi.Config) { c.APIKey = "" },
		"no internal key":  func(c *httpapi.Config) { c.InternalAPIKey = "" },
		"one key for both": func(c *httpapi.Config) { c.InternalAPIKey = c.APIKey },
		"a bad proxy":      func(c *httpapi.Config) { c.TrustedProxies = []string{"nonsense"} },
	} {
		t.Run("an API is not made with "+name, func(t *testing.T) {
			cfg := httpapi.Config{APIKey: aKey, InternalAPIKey: anInnerKey}
			change(&cfg)
			if _, err := httpapi.New(nil, nil, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	for _, path := range []string{"/", "/api/v1/monitors/", "/api/v2/monitors", "/API/V1/MONITORS", "/api/v1/monitors/x/y", "/api/v1//monitors", "/internal/v1/monitors"} {
		t.Run("GET "+path+" is not there", func(t *testing.T) {
			open(t).get(path).fails(http.StatusNotFound, "ROUTE_NOT_FOUND", "/openapi.yaml")
		})
	}
	for request, allow := range map[string]string{
		"PUT /api/v1/monitors":                               "POST, GET",
		"DELETE /api/v1/monitors":                            "POST, GET",
		"PATCH /api/v1/monitors/" + noSuchID:                 "GET, DELETE",
		"OPTIONS /api/v1/monitors/" + noSuchID:               "GET, DELETE",
		"HEAD /healthz":                                      "GET",
		"POST /healthz":                                      "GET",
		"GET /api/v1/webhooks/test":                          "POST",
		"POST /internal/v1/monitors/" + noSuchID + "/status": "PUT",
		"TRACE /api/v1/monitors":                             "POST, GET",
	} {
		t.Run(request+" is not allowed", func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			a := open(t).do(req(method, path, nil))
			a.fails(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", method)
			if !sameSet(a.header.Get("Allow"), allow) {
				t.Errorf("Allow is %q, expected %q", a.header.Get("Allow"), allow)
			}
		})
	}
}

func sameSet(a, b string) bool {
	set := map[string]bool{}
	for m := range strings.SplitSeq(a, ", ") {
		set[m] = true
	}
	for m := range strings.SplitSeq(b, ", ") {
		if !set[m] {
			return false
		}
		delete(set, m)
	}
	return len(set) == 0
}

func TestAGatewayThatIsNotReadyAnswers503AndLogsWhy(t *testing.T) { // section 8.7
	g := open(t)
	g.ready = errors.New("dial tcp 10.1.2.3:5432: connection refused")
	a := g.do(httptestGet("/readyz"))
	a.fails(http.StatusServiceUnavailable, "UNAVAILABLE", "not ready")
	if strings.Contains(string(a.body), "10.1.2.3") {
		t.Error("a response that needs no key contains the database's address")
	}
	if log := g.log.String(); !strings.Contains(log, "10.1.2.3") || !strings.Contains(log, `"WARN"`) {
		t.Errorf("the log is %s", log)
	}
	g.do(httptestGet("/healthz")).is(http.StatusOK)
}

func TestAReadinessProbeDuringANormalStartOrStopIsNoWarning(t *testing.T) {
	g := open(t)
	g.ready = fmt.Errorf("readiness: %w", httpapi.StartingOrStopping("the gateway is stopping"))
	g.do(httptestGet("/readyz")).fails(http.StatusServiceUnavailable, "UNAVAILABLE", "not ready")
	if log := g.log.String(); !strings.Contains(log, "the gateway is stopping") || strings.Contains(log, `"WARN"`) {
		t.Errorf("the log is %s", log)
	}
}

func TestFailures(t *testing.T) {
	t.Run("of the store are 500, without details, and logged", func(t *testing.T) {
		g := open(t)
		id := g.registers("Q")
		g.store.Fail = func(context.Context, string) error { return errors.New(`pq: relation "monitors" is gone`) }
		a := g.get("/api/v1/monitors/" + string(id))
		a.fails(http.StatusInternalServerError, monitor.Internal)
		if strings.Contains(string(a.body), "pq") {
			t.Errorf("the answer is %s", a.body)
		}
		if log := g.log.String(); !strings.Contains(log, "is gone") || !strings.Contains(log, `"monitor_id":"`+string(id)+`"`) || !strings.Contains(log, `"component":"httpapi"`) {
			t.Errorf("the log is %s", log)
		}
	})
	t.Run("by panic are 500, without details, and logged with the place", func(t *testing.T) {
		g := open(t)
		g.store.Fail = func(context.Context, string) error { panic("index out of range") }
		a := g.get("/api/v1/monitors")
		a.fails(http.StatusInternalServerError, monitor.Internal)
		if strings.Contains(string(a.body), "index") {
			t.Errorf("the answer is %s", a.body)
		}
		if log := g.log.String(); !strings.Contains(log, "index out of range") || !strings.Contains(log, "front_test.go") {
			t.Errorf("the log is %s", log)
		}
		g.store.Fail = nil
		g.get("/api/v1/monitors").is(http.StatusOK)
	})
	t.Run("to answer in time are 503 and may be repeated", func(t *testing.T) {
		g := open(t, func(c *httpapi.Config) { c.RequestTimeout = 10 * time.Millisecond })
		g.store.Fail = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return errors.New("pq: canceling statement due to user request") // how lib/pq tells it
		}
		a := g.get("/api/v1/monitors")
		a.fails(http.StatusServiceUnavailable, "UNAVAILABLE", "in time")
		if a.header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
	})
	t.Run("because the caller hung up are nobody's", func(t *testing.T) {
		g := open(t)
		ctx, hangUp := context.WithCancel(context.Background())
		g.store.Fail = func(ctx context.Context, _ string) error { hangUp(); return ctx.Err() }
		g.do(req("GET", "/api/v1/monitors", nil).WithContext(ctx))
		if log := g.log.String(); strings.Contains(log, `"ERROR"`) || strings.Contains(log, `"WARN"`) {
			t.Errorf("the log is %s", log)
		}
	})
	t.Run("never show a key in the log", func(t *testing.T) {
		g := open(t)
		g.get("/api/v1/monitors")
		g.get("/nowhere?x=" + noSuchID)
		if log := g.log.String(); strings.Contains(log, aKey) || log == "" {
			t.Errorf("the log is %s", log)
		}
	})
}

func TestEveryAnswerForbidsSniffingAndCaching(t *testing.T) {
	for _, path := range []string{"/healthz", "/nowhere", "/api/v1/monitors"} {
		a := open(t).get(path)
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s answers with %v", path, a.header)
		}
	}
}

func TestClientAddress(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []string
		logged  string
	}{
		"is the connection's when no proxy is trusted": {nil, "192.0.2.1"}, // httptest's
		"is the forwarded one behind a trusted proxy":  {[]string{"192.0.2.0/24"}, "203.0.113.9"},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, func(cfg *httpapi.Config) { cfg.TrustedProxies = c.trusted })
			r := httptestGet("/healthz")
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
			g.do(r)
			if !strings.Contains(g.log.String(), `"client":"`+c.logged+`"`) {
				t.Errorf("the log is %s", g.log)
			}
		})
	}
}
