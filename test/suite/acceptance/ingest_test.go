package acceptance_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// A broadcast is live, its encoder sends nothing, and yt-dlp sees no media: only the owner's login tells. Then Google rejects the
// login. Its token, the access tokens, the client's secret and the stream key are nowhere. A test of domain/ingest shows what each issue explains.
func TestTheOwnersLoginTellsThatTheEncoderSendsNothing(t *testing.T) { // S24
	t.Parallel()
	db := newDatabase(t)
	env := startEnv(t, db.dsn(), "LOG_LEVEL=debug", "SECRETS_KEY=a-secrets-key-of-the-gateway", "YOUTUBE_OAUTH_CLIENT_ID="+youtube.OAuthClientID, "YOUTUBE_OAUTH_CLIENT_SECRET="+youtube.OAuthClientSecret)
	video := newVideoID()
	env.YouTube.Add(video, youtube.Video{State: youtube.Offline})
	env.YouTube.SetSignal(video, youtube.Signal{Stream: "inactive", Health: "noData", Issues: []youtube.Issue{{Type: "somethingNew", Severity: "warning", Reason: "Check it"}}})
	created := must.Get(env.Service.Call(t.Context(), http.MethodPost, "/api/v1/ingest-logins", map[string]any{"name": "studio", "refresh_token": youtube.RefreshToken}))(t)
	expect.Equal(t, "the status of the upload", created.Status, http.StatusCreated)
	id := env.Register(t, video, fastConfig())
	login := func() map[string]any {
		return callOK(t, env.Service, http.MethodGet, "/api/v1/ingest-logins", nil)["ingest_logins"].([]any)[0].(map[string]any)
	}
	eventually(t, 2*time.Minute, "the login is accepted", func() bool { return login()["state"] == "accepted" && login()["streams"] == 1.0 })
	shown := callOK(t, env.Service, http.MethodGet, "/api/v1/monitors/"+id, nil)["ingest"].(map[string]any)
	expect.Equal(t, "what arrives", []any{shown["broadcast"], shown["stream"], shown["no_data"], len(shown["issues"].([]any))}, []any{"live", "inactive", true, 2})

	told := env.WaitEvent(t, id, "alert.segment_error", 4*time.Minute)
	if !bytes.Contains(told.Body, []byte(`"failure":"no_data"`)) {
		t.Errorf("told is %s", told.Body)
	}
	condition := func() map[string]any {
		incident := callOK(t, env.Service, http.MethodGet, "/api/v1/incidents?monitor_id="+id, nil)["incidents"].([]any)[0].(map[string]any)
		return incident["conditions"].([]any)[0].(map[string]any)
	}
	cause, _ := condition()["alert"].(map[string]any)["cause"].(map[string]any)
	expect.Equal(t, "the condition and its cause", []any{condition()["name"], cause["type"]}, []any{"no_media", "noData"})
	env.YouTube.SetSignal(video, youtube.Signal{})
	eventually(t, 2*time.Minute, "the incident knows that data arrive", func() bool { return condition()["ended_at"] != nil })

	env.YouTube.RefuseOwner("invalid_grant")
	waitLog(t, env.Service, 2*time.Minute, hasPrefix("Google no longer accepts the login of an owner"))
	expect.Equal(t, "the state", login()["state"], any("rejected"))

	find := func(where string, text []byte) {
		for _, secret := range []string{youtube.RefreshToken, youtube.AccessPrefix, youtube.OAuthClientSecret, youtube.StreamKey} {
			if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(hex.EncodeToString([]byte(secret)))) {
				t.Errorf("%s has %s", where, secret)
			}
		}
	}
	for _, path := range []string{"/", "/settings", "/api/v1/monitors", "/api/v1/monitors/" + id, "/api/v1/monitors/" + id + "/events", "/api/v1/ingest-logins", "/api/v1/audit", "/api/v1/service", "/api/v1/incidents", "/api/v1/deliveries"} {
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, env.Service.URL()+path, nil))(t)
		request.Header.Set("X-API-Key", system.APIKey)
		response := must.Get(http.DefaultClient.Do(request))(t)
		find(path, must.Get(io.ReadAll(response.Body))(t))
		must.Do(t, response.Body.Close())
	}
	for table, rows := range everyRow(t, db.DSN()) {
		find("the table "+table, rows)
	}
	must.Do(t, env.Service.Stop()) // what is written at the end is looked at, too
	for _, l := range env.Service.Log() {
		find("the log", []byte(l.Raw))
	}
	for _, event := range env.Events(id) {
		find("an event", event.Body)
	}
	expect.Equal(t, "answers with a stream key", env.YouTube.StreamKeysGiven(), 0)
	if n := env.YouTube.Count(youtube.OAuth, ""); n == 0 || strings.Contains(fmt.Sprint(env.YouTube.Requests()), "cdn") {
		t.Errorf("%d questions to the token endpoint", n)
	}
}
