package youtubeapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// askOwner asks a server that answers each path with a status and a body.
func askOwner(t *testing.T, status int, answers map[string]string, see func(*http.Request)) *youtubeapi.Owner {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Do(t, r.ParseForm())
		if see != nil {
			see(r)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	return youtubeapi.NewOwnerAt(server.URL, server.URL+"/token", client, youtube.OAuthClientID, youtube.OAuthClientSecret)
}

func TestWhatTheOwnerIsToldIsRead(t *testing.T) { // S24
	var asked []string
	owner := askOwner(t, 200, map[string]string{
		"/token":          `{"access_token":"ya29.a","expires_in":3599,"token_type":"Bearer"}`,
		"/liveBroadcasts": `{"kind":"youtube#liveBroadcastListResponse","items":[{"id":"abcdefghijk","status":{"lifeCycleStatus":"live"},"contentDetails":{"boundStreamId":"s1"}},{"id":"lmnopqrstuv"}]}`,
		"/liveStreams": `{"kind":"youtube#liveStreamListResponse","items":[{"id":"s1","status":{"streamStatus":"active","healthStatus":{"status":"bad","lastUpdateTimeSeconds":"1793793600",
			"configurationIssues":[{"type":"noAudioStream","severity":"error","reason":"Check audio settings","description":"no audio"}]}}},
			{"id":"s2","status":{"streamStatus":"ready","healthStatus":{"status":"noData","lastUpdateTimeSeconds":1793793600}}}]}`,
	}, func(r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		if strings.Contains(r.RequestURI, "cdn") || strings.Contains(r.RequestURI, youtube.RefreshToken) || strings.Contains(r.RequestURI, "ya29") {
			t.Errorf("asked is %s", r.RequestURI)
		}
		switch r.URL.Path {
		case "/token":
			expect.Equal(t, "the form", r.PostForm.Encode(), "client_id="+youtube.OAuthClientID+"&client_secret="+youtube.OAuthClientSecret+"&grant_type=refresh_token&refresh_token=1%2F%2FrefreshTokenOfAnOwnerForTestsOnly")
		default:
			expect.Equal(t, "the header", r.Header.Get("Authorization"), "Bearer ya29.a")
		}
	})
	token, life, r := owner.Access(t.Context(), youtube.RefreshToken)
	expect.Equal(t, "the access", []any{token, life, r.Failure()}, []any{"ya29.a", 3599 * time.Second, (*officialstate.Failure)(nil)})
	broadcasts, r := owner.Broadcasts(t.Context(), token)
	expect.Equal(t, "the failure", r.Failure(), nil)
	expect.Equal(t, "the broadcasts", broadcasts, []ingest.Broadcast{{VideoID: "abcdefghijk", Status: "live", StreamID: "s1"}, {VideoID: "lmnopqrstuv"}})
	signals, r := owner.Signals(t.Context(), token, []string{"s1", "s2"})
	expect.Equal(t, "the failure", r.Failure(), nil)
	at := time.Unix(1793793600, 0).UTC()
	expect.Equal(t, "the signals", signals, []ingest.Signal{
		{StreamID: "s1", Health: ingest.Health{Stream: "active", Signal: "bad", JudgedAt: at, Issues: []ingest.Issue{{Type: "noAudioStream", Severity: ingest.Error, Reason: "Check audio settings", Description: "no audio"}}}},
		{StreamID: "s2", Health: ingest.Health{Stream: "ready", Signal: "noData", JudgedAt: at}},
	})
	expect.Equal(t, "what was asked", len(asked), 3)
}

func TestARefusalOfTheOwnerHasItsReasonAndNoToken(t *testing.T) { // S24
	for name, c := range map[string]struct {
		status int
		body   string
		want   officialstate.Failure
	}{
		"a dead login": {400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`,
			officialstate.Failure{Kind: officialstate.LoginRejected, Detail: "HTTP 400: invalid_grant: Token has been expired or revoked."}},
		"a wrong client": {401, `{"error":"invalid_client","error_description":"no ` + youtube.OAuthClientSecret + ` of ` + youtube.RefreshToken + `"}`,
			officialstate.Failure{Kind: officialstate.KeyRefused, Detail: "HTTP 401: invalid_client: no [hidden] of [hidden]"}},
		"a proxy":          {403, `<html>`, officialstate.Failure{Kind: officialstate.Malformed, Detail: "HTTP 403: the response is none of the API"}},
		"a captive portal": {200, `<html>`, officialstate.Failure{Kind: officialstate.Malformed, Detail: "HTTP 200: the response has no access token"}},
	} {
		_, _, r := askOwner(t, c.status, map[string]string{"/token": c.body}, nil).Access(t.Context(), youtube.RefreshToken)
		expect.Equal(t, name, r.Failure(), &c.want)
	}
	for reason, want := range map[string]officialstate.FailureKind{
		"quotaExceeded": officialstate.QuotaExceeded, "userRequestsExceedRateLimit": officialstate.RateLimited, "insufficientLivePermissions": officialstate.LoginRejected,
		"liveStreamingNotEnabled": officialstate.LoginRejected, "insufficientPermissions": officialstate.LoginRejected, "accessNotConfigured": officialstate.KeyRefused,
	} {
		owner := askOwner(t, 403, map[string]string{
			"/liveBroadcasts": `{"error":{"code":403,"message":"for ya29.secret","errors":[{"reason":"` + reason + `"}],"status":"PERMISSION_DENIED"}}`,
		}, nil)
		_, r := owner.Broadcasts(t.Context(), "ya29.secret")
		expect.Equal(t, reason, r.Failure(), &officialstate.Failure{Kind: want, Detail: "HTTP 403: " + reason + ": for [hidden]"})
	}
	for _, body := range []string{`<html>`, `{"items":[]}`} {
		owner := askOwner(t, 200, map[string]string{"/liveBroadcasts": body, "/liveStreams": body}, nil)
		_, broadcasts := owner.Broadcasts(t.Context(), "a")
		_, signals := owner.Signals(t.Context(), "a", []string{"s"})
		expect.Equal(t, body, []officialstate.FailureKind{broadcasts.Failure().Kind, signals.Failure().Kind}, []officialstate.FailureKind{officialstate.Malformed, officialstate.Malformed})
	}
}

func TestTheStandInAnswersAnOwner(t *testing.T) { // S24
	y, client := startYouTube(t)
	y.SetSignal("abcdefghijk", youtube.Signal{Stream: "inactive", Health: "noData", Issues: []youtube.Issue{{Type: "noAudioStream", Severity: "error"}}})
	y.SetSignal("lmnopqrstuv", youtube.Signal{LifeCycle: "complete"})
	owner := youtubeapi.NewOwner(client, youtube.OAuthClientID, youtube.OAuthClientSecret)
	token, _, r := owner.Access(t.Context(), youtube.RefreshToken)
	expect.Equal(t, "the failure", r.Failure(), nil)
	broadcasts, r := owner.Broadcasts(t.Context(), token)
	expect.Equal(t, "the failure", r.Failure(), nil)
	expect.Equal(t, "the broadcasts", broadcasts, []ingest.Broadcast{{VideoID: "abcdefghijk", Status: "live", StreamID: "stream-of-abcdefghijk"}})
	signals, r := owner.Signals(t.Context(), token, []string{"stream-of-abcdefghijk"})
	expect.Equal(t, "the failure", r.Failure(), nil)
	if h := ingest.Match(broadcasts, signals)["abcdefghijk"]; !h.NoData() || len(h.Issues) != 1 {
		t.Errorf("the health is %+v", h)
	}
	y.RefuseOwner("invalid_grant")
	_, r = owner.Broadcasts(t.Context(), token)
	expect.Equal(t, "with an access token that is no more", r.Status, 401)
	_, _, r = owner.Access(t.Context(), youtube.RefreshToken)
	expect.Equal(t, "the kind of failure", r.Failure().Kind, officialstate.LoginRejected)
	expect.Equal(t, "the stream keys that were given", y.StreamKeysGiven(), 0)
}
