package acceptance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// Values of cookies that may be seen nowhere.
const (
	firstLogin, secondLogin = "the-first-login-7f3a", "the-second-login-9c2e"
	loginSigner             = "the-signer-of-logins-5d1b"
)

var cookieValues = hidden{"the first login": firstLogin, "the second login": secondLogin, "the signer": loginSigner, "a token": youtube.TokenPrefix}

// cookieFileOf returns a cookie file with a login.
func cookieFileOf(login string) []byte {
	var b strings.Builder
	b.WriteString("# Netscape HTTP Cookie File\n")
	for name, value := range map[string]string{"LOGIN_INFO": login, "SAPISID": loginSigner} {
		fmt.Fprintf(&b, ".youtube.com\tTRUE\t/\tTRUE\t%d\t%s\t%s\n", time.Now().Add(time.Hour).Unix(), name, value)
	}
	return []byte(b.String())
}

// onlyJar returns the only cookie jar.
func onlyJar(t *testing.T, s *system.Service) map[string]any {
	t.Helper()
	all := callOK(t, s, http.MethodGet, "/api/v1/cookie-jars", nil)["cookie_jars"].([]any)
	if len(all) != 1 {
		t.Fatalf("the jars are %v", all)
	}
	return all[0].(map[string]any)
}

// Two gateways with workers of both kinds watch streams for members by one login, which YouTube renews with each question. Its
// cookies are nowhere but in the jar, the workers and the questions.
func TestALoginIsNowhereButInItsJar(t *testing.T) { // section 17.7
	runTimeline(t, 2)
	db := newDatabase(t)
	common := []string{db.dsn(), "LOG_LEVEL=debug", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + writeScript(t, "exit 1"), "SECRETS_KEY=a-secrets-key-of-two-gateways"}
	config := testenv.Config{Binary: binary, Env: append(common, "WORKER_RUNTIME=inline")}
	env := startConfigured(t, func(*testenv.Env) []string { return append(common, "WORKER_RUNTIME=process") })
	other := must.Get(env.StartBeside(t.Context(), config))(t)
	t.Cleanup(func() { _ = other.Stop() })
	gateways := []*system.Service{env.Service, other}
	stopWatching := cookieValues.watchProcesses(t, nil, "--cookies", gateways...)
	env.YouTube.AcceptLogin(firstLogin)
	env.YouTube.RotateLogin()

	text := [2]string{"Content-Type", "text/plain"}
	created, err := env.Service.Call(t.Context(), http.MethodPost, "/api/v1/cookie-jars?name=members", cookieFileOf(firstLogin), text)
	if err != nil || created.Status != http.StatusCreated {
		t.Fatalf("the upload is answered %d %v, %v", created.Status, created.Body, err)
	}
	jarURL := fmt.Sprint("/api/v1/cookie-jars/", created.Body["jar_id"])
	var ids, videos []string
	for _, gateway := range gateways {
		video := newVideoID()
		stream := must.Get(env.StartStream(t.Context(), video, livestream.Config{}))(t)
		env.YouTube.Add(video, youtube.Video{State: youtube.Live, Login: true, Source: stream})
		registration := fastConfig()
		registration["cookie_jar"] = "members"
		id := must.Get(gateway.Register(t.Context(), env.YouTube.URL(video), env.Receiver.URL(), registration))(t)
		ids, videos = append(ids, id), append(videos, video)
	}
	for _, id := range ids {
		env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	}
	// askUntil lets both streams be asked about at once, again and again: URLs that a question has just got must expire, too. They
	// live long enough for yt-dlp, which reads the master playlist itself, also on a slow machine.
	askUntil := func(what string, holds func() bool) {
		t.Helper()
		var expired time.Time
		env.Eventually(t, 5*time.Minute, what, func() bool {
			if time.Since(expired) > 15*time.Second {
				for _, video := range videos {
					env.YouTube.ExpireNow(video)
				}
				expired = time.Now()
			}
			return holds()
		})
	}
	for range 3 {
		asked := [2]int{env.YouTube.Count(youtube.Watch, videos[0]), env.YouTube.Count(youtube.Watch, videos[1])}
		askUntil("both streams are asked about", func() bool {
			return env.YouTube.Count(youtube.Watch, videos[0]) > asked[0] && env.YouTube.Count(youtube.Watch, videos[1]) > asked[1]
		})
	}
	env.Eventually(t, time.Minute, "the login is renewed and accepted", func() bool {
		jar := onlyJar(t, other)
		return jar["state"] == "accepted" && jar["version"].(float64) > 3
	})

	env.YouTube.AcceptLogin(secondLogin)
	askUntil("the jar is shown as rejected", func() bool { return onlyJar(t, env.Service)["state"] == "rejected" })
	since, _ := onlyJar(t, env.Service)["rejected_at"].(string)
	if at, err := time.Parse(time.RFC3339, since); err != nil || time.Since(at) > 10*time.Minute {
		t.Errorf("it is rejected since %q", since)
	}
	replaced, err := other.Call(t.Context(), http.MethodPut, jarURL, cookieFileOf(secondLogin), text)
	if err != nil || replaced.Status != http.StatusOK {
		t.Fatalf("the second upload is answered %d %v, %v", replaced.Status, replaced.Body, err)
	}
	askUntil("the second login is accepted", func() bool { return onlyJar(t, env.Service)["state"] == "accepted" })
	for _, id := range ids {
		if m := must.Get(env.Service.Monitor(t.Context(), id))(t); m["status"] != "monitoring" {
			t.Errorf("a stream whose login was lost for a while is %v", m)
		}
	}
	stopWatching()

	cookieValues.searchAll(t, env, db, "ran yt-dlp", gateways...)
}
