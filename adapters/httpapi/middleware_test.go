package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestEveryAPIRequestNeedsItsKey(t *testing.T) {
	t.Run("every operation but nine refuses a request without a key", func(t *testing.T) {
		api := newTestAPI(t)
		open := map[string]bool{
			"GET /healthz": true, "GET /readyz": true, "GET /openapi.yaml": true, "GET /evidence/{evidence_id}/{variant}": true,
			"GET /act/{token}": true, "POST /act/{token}": true, "POST /api/v1/session": true, "DELETE /api/v1/session": true,
			"POST /eventsub/twitch": true, // which its signature opens
		}
		tried := 0
		for path, item := range document(t).doc.Paths.Map() {
			for method := range item.Operations() {
				whole := strings.NewReplacer("{monitor_id}", noSuchID, "{event_id}", eventID, "{evidence_id}", evidenceID, "{variant}", "onset").Replace(path)
				a := api.do(httptest.NewRequest(method, whole, nil))
				if open[method+" "+path] != (a.status != http.StatusUnauthorized) {
					t.Errorf("%s %s without a key answers %d", method, path, a.status)
				}
				tried++
			}
		}
		if tried < 12 {
			t.Errorf("only %d paths were tried", tried)
		}
		for _, path := range []string{"/x", "/api/v1", "/metrics", "/internal/v1/monitors", "/healthz/", "//healthz", "/evidence/", "/evidence/a", "/evidence/a/b/c", "/evidence/../api/v1/monitors"} {
			api.do(httptest.NewRequest(http.MethodGet, "http://host"+path, nil)).hasError(http.StatusUnauthorized, monitor.Unauthorized)
		}
	})
	for name, given := range map[string]string{
		"a wrong key": "guess", "an empty key": "", "the beginning of the key": apiKey[:5], "the key and more": apiKey + "x",
		"the internal key": internalAPIKey, "the token of a worker": monitor.NewTokenKey(internalAPIKey).Token(firstID, 1),
	} {
		t.Run("the public API refuses "+name, func(t *testing.T) {
			a := newTestAPI(t).do(with(request("GET", "/api/v1/monitors", ""), withHeader(publicKeyHeader, given))(nil))
			a.hasError(http.StatusUnauthorized, monitor.Unauthorized, "X-API-Key")
			if a.header.Get("WWW-Authenticate") == "" {
				t.Error("WWW-Authenticate is missing")
			}
		})
	}
	t.Run("the two APIs are on separate handlers", func(t *testing.T) {
		handlers := newTestAPI(t).handlers
		for handler, path := range map[http.Handler]string{handlers.Public(): "/internal/v1/monitors/" + noSuchID, handlers.Internal(): "/api/v1/monitors"} {
			r := newRequestWithoutKey(path)
			r.Header.Set(publicKeyHeader, apiKey)
			r.Header.Set(internalKeyHeader, monitor.NewTokenKey(internalAPIKey).Token(noSuchID, 1))
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
			cfg := httpapi.Config{APIKey: apiKey, InternalAPIKey: internalAPIKey}
			change(&cfg)
			if _, err := httpapi.New(httpapi.Services{}, nil, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	for _, path := range []string{"/x", "/api/v1/monitors/", "/api/v2/monitors", "/API/V1/MONITORS", "/api/v1/monitors/x/y", "/api/v1//monitors", "/internal/v1/monitors"} {
		t.Run("GET "+path+" is not found", func(t *testing.T) {
			newTestAPI(t).get(path).hasError(http.StatusNotFound, "ROUTE_NOT_FOUND", "/openapi.yaml")
		})
	}
	for request, allow := range map[string]string{
		"PUT /api/v1/monitors":                               "GET, POST",
		"OPTIONS /api/v1/monitors/" + noSuchID:               "DELETE, GET, PATCH",
		"HEAD /healthz":                                      "GET",
		"POST /healthz":                                      "GET",
		"GET /api/v1/webhooks/test":                          "POST",
		"POST /internal/v1/monitors/" + noSuchID + "/status": "PUT",
		"PATCH /api/v1/monitors/batch":                       "POST",
		"TRACE /api/v1/monitors":                             "GET, POST",
	} {
		t.Run(request+" is not allowed", func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			a := newTestAPI(t).do(newRequest(method, path, nil))
			a.hasError(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", method)
			allowed := strings.Split(a.header.Get("Allow"), ", ")
			if slices.Sort(allowed); strings.Join(allowed, ", ") != allow {
				t.Errorf("Allow is %q, expected %q", allowed, allow)
			}
		})
	}
}

func TestAGatewayThatIsNotReadyAnswers503AndLogsWhy(t *testing.T) { // section 8.7
	api := newTestAPI(t)
	api.ready = errors.New("dial tcp 10.1.2.3:5432: connection refused")
	a := api.do(newRequestWithoutKey("/readyz"))
	a.hasError(http.StatusServiceUnavailable, "UNAVAILABLE", "not ready")
	a.lacksWords("10.1.2.3")
	api.logged().hasWords("10.1.2.3", `"WARN"`)
	api.do(newRequestWithoutKey("/healthz")).hasStatus(http.StatusOK)
}

// Its load balancers have DRAIN_TIME from the beginning of the stop.
func TestAGatewayThatStopsIsNotReadyAtOnce(t *testing.T) { // section 8.7
	stops := false
	api := newTestAPI(t, func(c *testConfig) { c.Stopping = func() bool { return stops } })
	ask := func() int { return api.do(newRequestWithoutKey("/readyz")).status }
	must.Equal(t, "answers", ask(), http.StatusOK)
	stops, api.ready = true, httpapi.StartingOrStopping("the gateway is stopping")
	expect.Equal(t, "answers", ask(), http.StatusServiceUnavailable)
}

// Anybody may ask, and each check takes a connection of the database.
func TestManyReadinessProbesShareOneCheck(t *testing.T) { // section 8.7
	checks := 0
	api := newTestAPI(t)
	api.whenChecked = func() { checks++ }
	ask := func() int { return api.do(newRequestWithoutKey("/readyz")).status }
	for range 50 {
		must.Equal(t, "answers", ask(), http.StatusOK)
	}
	api.ready = errors.New("no database")
	if status := ask(); status != http.StatusOK || checks != 1 {
		t.Errorf("%d checks were made, and the last request is answered with %d", checks, status)
	}
	api.at = now.Add(500 * time.Millisecond)
	if first, second := ask(), ask(); first != http.StatusServiceUnavailable || second != first || checks != 2 {
		t.Errorf("half a second later the answers are %d and %d after %d checks", first, second, checks)
	}
	expect.Equal(t, "lines of the log that say why", strings.Count(api.log.String(), "no database"), 1)
}

func TestAReadinessProbeDuringANormalStartOrStopIsNoWarning(t *testing.T) {
	api := newTestAPI(t)
	api.ready = fmt.Errorf("readiness: %w", httpapi.StartingOrStopping("the gateway is stopping"))
	api.do(newRequestWithoutKey("/readyz")).hasError(http.StatusServiceUnavailable, "UNAVAILABLE", "not ready")
	api.logged().hasWords("the gateway is stopping").lacksWords(`"WARN"`)
}

func TestInternalFailuresAreLogged(t *testing.T) {
	t.Run("an error of the store, with its monitor", func(t *testing.T) {
		api := newTestAPI(t)
		id := api.register("Q")
		api.store.Fail = func(context.Context, string) error { return errors.New(`pq: relation "monitors" is gone`) }
		api.get("/api/v1/monitors/"+string(id)).hasError(http.StatusInternalServerError, monitor.Internal)
		api.logged().hasWords("is gone", `"monitor_id":"`+string(id)+`"`, `"component":"httpapi"`)
	})
	t.Run("a panic, with its stack", func(t *testing.T) {
		api := newTestAPI(t)
		api.store.Fail = func(context.Context, string) error { panic("index out of range") }
		a := api.get("/api/v1/monitors")
		a.hasError(http.StatusInternalServerError, monitor.Internal)
		a.lacksWords("index")
		api.logged().hasWords("index out of range", "middleware_test.go")
		api.store.Fail = nil
		api.get("/api/v1/monitors").hasStatus(http.StatusOK)
	})
	t.Run("but no cancelled request", func(t *testing.T) {
		api := newTestAPI(t)
		ctx, cancel := context.WithCancel(context.Background())
		api.store.Fail = func(ctx context.Context, _ string) error { cancel(); return ctx.Err() }
		api.do(newRequest("GET", "/api/v1/monitors", nil).WithContext(ctx))
		api.logged().lacksWords(`"ERROR"`, `"WARN"`)
	})
	t.Run("and no key", func(t *testing.T) {
		api := newTestAPI(t)
		api.get("/api/v1/monitors")
		api.get("/nowhere?x=" + noSuchID)
		if log := api.log.String(); strings.Contains(log, apiKey) || log == "" {
			t.Errorf("the log is %s", log)
		}
	})
}

func TestEveryResponseForbidsSniffingAndCaching(t *testing.T) {
	for _, path := range []string{"/healthz", "/nowhere", "/api/v1/monitors"} {
		newTestAPI(t).get(path).hasHeaders("X-Content-Type-Options", "nosniff", "Cache-Control", "no-store")
	}
}

func TestTheForwardedAddressIsTakenFromTrustedProxiesOnly(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []string
		logged  string
	}{
		"is the connection's when no proxy is trusted": {nil, "192.0.2.1"}, // httptest's
		"is the forwarded one behind a trusted proxy":  {[]string{"192.0.2.0/24"}, "203.0.113.9"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t, func(cfg *testConfig) { cfg.TrustedProxies = c.trusted })
			r := newRequestWithoutKey("/healthz")
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
			api.do(r)
			api.logged().hasWords(`"client":"` + c.logged + `"`)
		})
	}
}

func TestPagesNeedNoKey(t *testing.T) {
	api := newTestAPI(t)
	api.unvalidated = true // openapi.yaml describes the API, not the pages
	for _, path := range []string{"/", "/incidents", "/incidents/inc-1", "/monitors/mon-1", "/deliveries", "/register", "/settings", "/signin"} {
		for _, method := range []string{"GET", "HEAD"} {
			a := api.do(httptest.NewRequest(method, path, nil))
			if a.status != http.StatusOK && a.status != http.StatusNotImplemented || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s %s is answered with %d, %v", method, path, a.status, a.header)
			}
			if a.header.Get("Content-Security-Policy") == "" {
				t.Errorf("%s %s has no Content-Security-Policy", method, path)
			}
		}
	}
	api.do(httptest.NewRequest(http.MethodPost, "/incidents", nil)).hasError(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	api.do(httptest.NewRequest(http.MethodGet, "/assets/missing.js", nil)).hasStatus(http.StatusNotFound)
	for _, path := range []string{"/api/v1/monitors", "/api/v1/incidents", "/elsewhere", "/assets", "/monitors"} {
		api.do(httptest.NewRequest(http.MethodGet, path, nil)).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
	}
}

func TestWithoutADashboardThereAreNeitherPagesNorSessions(t *testing.T) {
	signedIn := newTestAPI(t).signIn()
	api := newTestAPI(t, func(c *testConfig) { c.Dashboard = nil })
	api.unvalidated = true
	api.withSession(signedIn, http.MethodGet, "/api/v1/monitors").hasError(http.StatusUnauthorized, "UNAUTHORIZED")
	api.post("/api/v1/session", `{"api_key":"`+apiKey+`"}`).hasError(http.StatusNotFound, "ROUTE_NOT_FOUND")
	expect.Equal(t, "the link to sign in", api.handlers.NewSignInLink(), "")
	for _, path := range []string{"/", "/incidents", "/signin", "/assets/index.js"} {
		api.do(httptest.NewRequest(http.MethodGet, path, nil)).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
		api.get(path).hasError(http.StatusNotFound, "ROUTE_NOT_FOUND")
	}
}

// loggedFailure is a line of the log of level WARN or ERROR.
type loggedFailure struct {
	Level, Msg, Route string
	Suppressed        int
}

// failures reads the lines that were logged since the last call.
func (api *testAPI) failures() (all []loggedFailure) {
	api.t.Helper()
	for lines := json.NewDecoder(api.log); ; {
		var c loggedFailure
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			api.t.Fatal(err)
		}
		if c.Level == "ERROR" || c.Level == "WARN" {
			all = append(all, c)
		}
	}
}

func TestOneFailureOfEachKindIsLoggedPerInterval(t *testing.T) {
	const (
		status, monitors = "/internal/v1/monitors/:monitor_id/status", "/api/v1/monitors"
		failed           = "request failed, its caller got 500: correct the cause that error names, usually the database"
		late             = "request not answered in time, its caller got 503 and may repeat it: check the database"
	)
	synctest.Test(t, func(t *testing.T) {
		api := newTestAPI(t)
		path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
		fail := func(err error) {
			t.Helper()
			api.store.Fail = func(context.Context, string) error { return err }
			api.put(path, completeReport)
		}
		expectLogged := func(want ...loggedFailure) {
			t.Helper()
			if got := api.failures(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the log says %v, want %v", got, want)
			}
		}
		unreachable := errors.New("no connection")
		for n := range 50 { // in 9.8 s
			fail(fmt.Errorf("try %d: %w", n, unreachable))
			time.Sleep(196 * time.Millisecond)
		}
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
		api.get(monitors).hasStatus(http.StatusInternalServerError)
		expectLogged(loggedFailure{"ERROR", failed, monitors, 0})
		fail(errors.Join(&json.SyntaxError{}, unreachable))
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
		fail(context.DeadlineExceeded)
		expectLogged(loggedFailure{"WARN", late, status, 0})
		time.Sleep(200 * time.Millisecond)
		fail(unreachable)
		expectLogged(loggedFailure{"ERROR", failed, status, 49})
		time.Sleep(10 * time.Second)
		fail(unreachable)
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
	})
}
