package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// workerRequests are the requests of the first generation of a worker: to the monitor
// firstID, or to noSuchID, which has evidence and thumbnails.
func workerRequests() map[string]struct {
	id   monitor.ID
	send func() *http.Request
} {
	type row = struct {
		id   monitor.ID
		send func() *http.Request
	}
	path := "/internal/v1/monitors/" + firstID
	return map[string]row{
		"the assignment": {firstID, func() *http.Request { return newRequest("GET", path+"?generation=1", nil) }},
		"a report":       {firstID, func() *http.Request { return newRequest("PUT", path+"/status", strings.NewReader(completeReport)) }},
		"a note":         {noSuchID, func() *http.Request { return newRequest("PUT", noteURL, nil) }},
		"an upload":      {noSuchID, func() *http.Request { return upload(uploadURL("onset", aPicture), aPicture)(nil) }},
		"a thumbnail":    {noSuchID, func() *http.Request { return putThumbnail(putThumbnailURL, jpegOf(16, 9)) }},
	}
}

func TestATokenSpeaksForOneMonitorAndGeneration(t *testing.T) { // decision O9
	tokens := monitor.NewTokenKey(internalAPIKey)
	const otherID = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e")
	for name, request := range workerRequests() {
		own := tokens.Token(request.id, 1)
		for _, c := range []struct {
			name   string
			token  string
			status int
			code   monitor.Code
			says   string
		}{
			{"its token", own, http.StatusOK, "", ""},
			{"API_KEY", apiKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
			{"INTERNAL_API_KEY", internalAPIKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
			{"a token of API_KEY", monitor.NewTokenKey(apiKey).Token(request.id, 1), http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
			{"the token of another monitor", tokens.Token(otherID, 1), http.StatusForbidden, "FORBIDDEN", "of another monitor"},
			{"the token of another generation", tokens.Token(request.id, 2), http.StatusForbidden, "FORBIDDEN", "is of generation 2, the request of generation 1"},
		} {
			t.Run(name+" with "+c.name, func(t *testing.T) {
				api := newTestAPI(t)
				api.register("Q")
				api.storeMonitor(noSuchID, incidentStreamURL)
				r := request.send()
				r.Header.Set(internalKeyHeader, c.token)
				if a := api.do(r); c.code == "" {
					a.hasStatus(c.status)
				} else {
					a.hasError(c.status, c.code, c.says)
				}
			})
		}
	}
}
