package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestATokenSpeaksForOneMonitorAndGeneration(t *testing.T) { // decision O9; each request of a worker is in responseCases
	tokens := monitor.NewTokenKey(internalAPIKey)
	const path, otherID = "/internal/v1/monitors/" + firstID + "/status", monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e")
	for name, c := range map[string]struct {
		token  string
		status int
		code   monitor.Code
		says   string
	}{
		"API_KEY":                         {apiKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"INTERNAL_API_KEY":                {internalAPIKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"a token of API_KEY":              {monitor.NewTokenKey(apiKey).Token(firstID, 1), http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"the token of another monitor":    {tokens.Token(otherID, 1), http.StatusForbidden, "FORBIDDEN", "of another monitor"},
		"the token of another generation": {tokens.Token(firstID, 2), http.StatusForbidden, "FORBIDDEN", "is of generation 2, the request of generation 1"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			r := newRequest("PUT", path, strings.NewReader(completeReport))
			r.Header.Set(internalKeyHeader, c.token)
			api.do(r).hasError(c.status, c.code, c.says)
		})
	}
}
