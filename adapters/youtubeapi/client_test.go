package youtubeapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

var _ officialstates.API = (*youtubeapi.Client)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "AIzaSyTheKeyOfAnOperatorWhichIsASecret1"

// ask asks a server with handler about two videos.
func ask(t *testing.T, handler http.HandlerFunc) officialstate.Response {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	return youtubeapi.NewAt(server.URL, client, key).Ask(t.Context(), []string{"abcdefghijk", "lmnopqrstuv"})
}

func TestTheAnswerOfTheAPIIsRead(t *testing.T) {
	got := ask(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		expect.Equal(t, "the request", []string{r.Method, r.URL.Path, q.Get("part"), q.Get("id"), r.Header.Get("X-Goog-Api-Key")},
			[]string{"GET", "/videos", "snippet,liveStreamingDetails,status", "abcdefghijk,lmnopqrstuv", key})
		if strings.Contains(r.RequestURI, key) {
			t.Errorf("the key is in the URL %s", r.RequestURI)
		}
		_, _ = io.WriteString(w, `{"kind":"youtube#videoListResponse","items":[
			{"id":"abcdefghijk","snippet":{"liveBroadcastContent":"upcoming"},"status":{"uploadStatus":"uploaded"},
			 "liveStreamingDetails":{"scheduledStartTime":"2026-01-15T20:00:00Z","actualStartTime":"2026-01-15T20:01:02Z"}},
			{"id":"lmnopqrstuv","snippet":{"liveBroadcastContent":"none"}}]}`)
	})
	expect.Equal(t, "the response", got, officialstate.Response{Status: 200, Broadcasts: []officialstate.Broadcast{
		{ID: "abcdefghijk", State: "upcoming", Upload: "uploaded", ActualStart: time.Date(2026, 1, 15, 20, 1, 2, 0, time.UTC), ScheduledStart: time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)},
		{ID: "lmnopqrstuv", State: "none"},
	}})
}

func TestWhatIsNoAnswerHasItsReasonAndNoKey(t *testing.T) {
	refusal := func(reason, message string) string {
		return fmt.Sprintf(`{"error":{"code":403,"message":%q,"errors":[{"message":"x","domain":"youtube.quota","reason":%q}]}}`, message, reason)
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   officialstate.FailureKind
		detail string
	}{
		"the day's units are used up": {403, refusal("quotaExceeded", `You have exceeded your <a href="/youtube/v3/getting-started#quota">quota</a>.`),
			officialstate.QuotaExceeded, "HTTP 403: quotaExceeded: You have exceeded your quota."},
		"the API is not enabled": {403, refusal("accessNotConfigured", "has not been used in project 1"), officialstate.KeyRefused, "HTTP 403: accessNotConfigured: has not been used in project 1"},
		"the key is wrong": {400, `{"error":{"code":400,"message":"API key ` + key + ` not valid","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			officialstate.KeyRefused, "HTTP 400: API_KEY_INVALID: API key [hidden] not valid"},
		"too many calls":         {403, refusal("rateLimitExceeded", "slow down"), officialstate.RateLimited, "HTTP 403: rateLimitExceeded: slow down"},
		"too many, in a proxy":   {429, "no", officialstate.RateLimited, "HTTP 429: the response is none of the API"},
		"a fault of the server":  {503, "<html>", officialstate.Unreachable, "HTTP 503: the response is none of the API"},
		"a proxy that refuses":   {403, "<html>Forbidden", officialstate.Malformed, "HTTP 403: the response is none of the API"},
		"a captive portal":       {200, "<html>log in", officialstate.Malformed, "HTTP 200: the response is not a list of videos"},
		"other JSON":             {200, `{"items":[]}`, officialstate.Malformed, "HTTP 200: the response is not a list of videos"},
		"a time that is none":    {200, `{"kind":"youtube#videoListResponse","items":[{"liveStreamingDetails":{"actualStartTime":"now"}}]}`, officialstate.Malformed, "HTTP 200: the response is not a list of videos"},
		"too much":               {200, strings.Repeat(" ", officialapi.MaxBody+1), officialstate.Malformed, "HTTP 200: the response has more than 1048576 bytes"},
		"a body that breaks off": {200, "cut off", officialstate.Malformed, "HTTP 200: the response breaks off: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.body == "cut off" {
					w.Header().Set("Content-Length", "1000")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}).Failure()
			expect.Equal(t, "the failure", got, &officialstate.Failure{Kind: c.want, Detail: c.detail})
		})
	}
}

func TestNoRedirectGetsTheKey(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got a request with the key %q", r.Header.Get("X-Goog-Api-Key"))
	}))
	defer elsewhere.Close()
	got := ask(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	expect.Equal(t, "the kind of failure", got.Failure().Kind, officialstate.Malformed)
}

func TestACallEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		began := time.Now()
		got := youtubeapi.New(client, key).Ask(t.Context(), []string{"abcdefghijk"})
		expect.Equal(t, "it took", time.Since(began), officialapi.Timeout)
		expect.Equal(t, "the failure", got.Failure(), &officialstate.Failure{Kind: officialstate.Unreachable, Detail: "the API was not reached: context deadline exceeded"})
	})
}

func TestTheFingerprintTellsKeysApartAndRevealsNone(t *testing.T) {
	of := youtubeapi.Fingerprint
	if of(key) == of(key+"2") || len(of(key)) != 16 || strings.Contains(key, of(key)) {
		t.Errorf("the fingerprints are %s and %s", of(key), of(key+"2"))
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
