package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
	if link := api.handlers.NewSignInLink(); link != "" {
		t.Errorf("there is a link to sign in: %s", link)
	}
	for _, path := range []string{"/", "/incidents", "/signin", "/assets/index.js"} {
		api.do(httptest.NewRequest(http.MethodGet, path, nil)).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
		api.get(path).hasError(http.StatusNotFound, "ROUTE_NOT_FOUND")
	}
}
