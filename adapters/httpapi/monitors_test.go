package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const firstID = "mon-00000000000070008000000000000001"

func TestATooLargeBodyIsRefused(t *testing.T) {
	padded := func(n int) string { return registration + strings.Repeat(" ", n-len(registration)) }
	t.Run("64 KiB are accepted", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10)).hasStatus(http.StatusCreated)
	})
	t.Run("one byte more is refused", func(t *testing.T) {
		a := newTestAPI(t).post("/api/v1/monitors", padded(64<<10+1))
		a.hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "65536")
		if a.header.Get("Connection") != "close" {
			t.Error("the connection is kept although the body is not read")
		}
	})
	t.Run("the internal API accepts 1 MiB", func(t *testing.T) {
		api := newTestAPI(t)
		path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-16)).hasStatus(http.StatusOK)
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-15)).hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "1048576")
	})
}

func TestOnlyJSONBodiesAreAccepted(t *testing.T) {
	for given, accepted := range map[string]bool{
		"":                                  true,
		"application/json":                  true,
		"Application/JSON; charset=UTF-8":   true,
		"application/json; charset=latin-1": false,
		"text/plain":                        false,
		"application/x-www-form-urlencoded": true, // set by curl -d
		"multipart/form-data; boundary=x":   false,
		";;;":                               false,
	} {
		t.Run(strconv.Quote(given)+" is accepted: "+strconv.FormatBool(accepted), func(t *testing.T) {
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Del("Content-Type")
			if given != "" {
				r.Header.Set("Content-Type", given)
			}
			a := newTestAPI(t).do(r)
			if accepted {
				a.hasStatus(http.StatusCreated)
				return
			}
			a.hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "application/json")
		})
	}
	t.Run("a compressed body is refused", func(t *testing.T) {
		r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		r.Header.Set("Content-Encoding", "gzip")
		newTestAPI(t).do(r).hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestAnUnknownMonitorIsNotFound(t *testing.T) {
	for name, id := range map[string]string{"is unknown": noSuchID, "has another form": "42", "has capitals": strings.ToUpper(firstID), "contains SQL": "'%20or%201=1--"} {
		t.Run("answers 404 for an id that "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			api.get("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
			api.delete("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
		})
	}
}
