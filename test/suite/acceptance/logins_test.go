package acceptance_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"

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

var cookieValues = []string{firstLogin, secondLogin, loginSigner, youtube.TokenPrefix}

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

// findCookies fails the test if a text has the value of a cookie, as it is or in hexadecimal, as the database shows bytes.
func findCookies(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, value := range cookieValues {
		if bytes.Contains(text, []byte(value)) || bytes.Contains(text, []byte(hex.EncodeToString([]byte(value)))) {
			t.Errorf("%s has the cookie %s", where, value)
		}
	}
}

// watchProcesses looks at the arguments and the environment of every process below the gateways until stop is called.
func watchProcesses(t *testing.T, gateways ...*system.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	seen := map[string]bool{}
	watching.Go(func() {
		for ctx.Err() == nil {
			for _, g := range gateways {
				for _, p := range append(g.Descendants(), system.Process{PID: g.PID()}) {
					for _, file := range []string{"cmdline", "environ"} {
						text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
						findCookies(t, fmt.Sprintf("%s of a process", file), text)
						seen[file] = seen[file] || bytes.Contains(text, []byte("--cookies")) || file == "environ" && len(text) > 0
					}
				}
			}
			scenario.Sleep(ctx, 20*time.Millisecond)
		}
	})
	return func() {
		cancel()
		watching.Wait()
		if !seen["cmdline"] || !seen["environ"] {
			t.Errorf("of the tools that use the jar, only %v were seen", seen)
		}
	}
}

// everyRow returns every row of every table as text.
func everyRow(t *testing.T, dsn string) map[string][]byte {
	t.Helper()
	db := must.Get(sqlx.Connect("postgres", dsn))(t)
	defer func() { _ = db.Close() }()
	texts := func(query string) (all []string) {
		must.Do(t, db.SelectContext(t.Context(), &all, query))
		return all
	}
	tables := map[string][]byte{}
	for _, table := range texts(`SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`) {
		tables[table] = []byte(strings.Join(texts(`SELECT CAST(row AS text) FROM `+table+` AS row`), "\n"))
	}
	return tables
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
	stopWatching := watchProcesses(t, gateways...)
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

	paths := []string{"/", "/openapi.yaml", "/api/v1/monitors", "/api/v1/cookie-jars", "/api/v1/audit", "/api/v1/service", "/api/v1/incidents", "/api/v1/deliveries", "/api/v1/evidence"}
	for _, id := range ids {
		for _, part := range []string{"", "/events", "/sessions", "/timeline"} {
			paths = append(paths, "/api/v1/monitors/"+id+part)
		}
	}
	for _, path := range paths {
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, env.Service.URL()+path, nil))(t)
		request.Header.Set("X-API-Key", system.APIKey)
		response := must.Get(http.DefaultClient.Do(request))(t)
		findCookies(t, path, must.Get(io.ReadAll(response.Body))(t))
		must.Do(t, response.Body.Close())
	}
	for table, rows := range everyRow(t, db.DSN()) {
		findCookies(t, "the table "+table, rows)
	}
	for _, g := range gateways {
		must.Do(t, g.Stop()) // what is written at the end is looked at, too
		said := ""
		for _, l := range g.Log() {
			findCookies(t, "the log", []byte(l.Raw))
			said += l.Message + "\n"
		}
		if !strings.Contains(said, "ran yt-dlp") {
			t.Error("the log does not have what it says of each question")
		}
	}
	for _, id := range ids {
		for _, event := range env.Events(id) {
			findCookies(t, "an event", event.Body)
		}
	}
	for _, dir := range []string{env.Dir(), db.dir, os.TempDir()} { // the database with its journal, keys, scratch folders
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && (dir != os.TempDir() || strings.Contains(path, "stream-monitor-tools")) {
				content, _ := os.ReadFile(path)
				findCookies(t, path, content)
			}
			return nil
		})
	}
}
