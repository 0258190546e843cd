package acceptance_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/fake/cdn"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/icecast"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// hidden are values that may be seen nowhere but where they belong, by what they are.
type hidden map[string]string

// search fails the test if a text has a value, also in the encodings of URLs and Authorization. The database shows bytes in
// hexadecimal, so that is searched for, too.
func (h hidden) search(t *testing.T, where string, text []byte) {
	t.Helper()
	for what, value := range h {
		for _, form := range []string{value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value))} {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				t.Errorf("%s has %s: …%q", where, what, text[max(0, at-100):min(len(text), at+len(form)+20)])
				break
			}
		}
	}
}

// watchProcesses looks at the arguments and the environment of every process below the gateways until stop is called.
// One of them has an argument that contains mark. Gateways alone have the settings in their environment.
func (h hidden) watchProcesses(t *testing.T, settings hidden, mark string, gateways ...*system.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	seen := map[string]bool{}
	watching.Go(func() {
		for ctx.Err() == nil {
			for _, g := range gateways {
				own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", g.PID()))
				for _, p := range append(g.Descendants(), system.Process{PID: g.PID()}) {
					isGateway := false
					for _, file := range []string{"cmdline", "environ"} {
						text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
						h.search(t, fmt.Sprintf("%s of a process", file), text)
						isGateway = isGateway || bytes.Equal(text, own) // or its child that has not begun its program yet
						if !isGateway || file == "cmdline" {
							settings.search(t, fmt.Sprintf("%s of a process", file), text)
						}
						seen[file] = seen[file] || bytes.Contains(text, []byte(mark)) || file == "environ" && len(text) > 0
					}
				}
			}
			scenario.Sleep(ctx, 100*time.Millisecond) // a tool takes longer to start
		}
	})
	return func() {
		cancel()
		watching.Wait()
		if !seen["cmdline"] || !seen["environ"] {
			t.Errorf("of the tools that have %q, only %v were seen", mark, seen)
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

var (
	openapiPath = regexp.MustCompile(`(?m)^  (/[^ :]+):\n(?:(?:    .*)?\n)*?    get:`)
	parameter   = regexp.MustCompile(`\{(\w+)\}`)
	idField     = regexp.MustCompile(`"(\w+_id|variant)": ?"([^"]+)"`)
)

// everyAnswer returns what the API and the pages answer to every GET, for all ids that occur in other answers.
func everyAnswer(t *testing.T, s *system.Service) map[string][]byte {
	t.Helper()
	answers, ids := map[string][]byte{}, map[string]map[string]bool{}
	get := func(path string) {
		limit := busyMachine
		if path == "/api/v1/feed" { // which has no end
			limit = 3 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil))(t)
		request.Header.Set("X-API-Key", system.APIKey)
		response := must.Get(http.DefaultClient.Do(request))(t)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil && path != "/api/v1/feed" {
			t.Errorf("%s: %v", path, err)
		}
		answers[path] = body
		for _, m := range idField.FindAllSubmatch(body, -1) {
			of, id := string(m[1]), string(m[2])
			if ids[of] == nil {
				ids[of] = map[string]bool{}
			}
			ids[of][id] = true
		}
	}
	for _, page := range ui.Pages {
		get(strings.ReplaceAll(page, ":", ""))
	}
	get("/openapi.yaml")
	var paths []string
	for _, m := range openapiPath.FindAllSubmatch(answers["/openapi.yaml"], -1) {
		if path := string(m[1]); !strings.HasPrefix(path, "/internal/") && !strings.Contains(path, "{token}") {
			paths = append(paths, path)
		}
	}
	for _, parameters := range []int{0, 1, 2} {
		for _, path := range paths {
			if names := parameter.FindAllStringSubmatch(path, -1); len(names) == parameters {
				fill(path, names, ids, get)
			}
		}
	}
	if len(answers) < 40 || len(answers["/api/v1/monitors"]) < 100 {
		t.Errorf("only %d answers were seen", len(answers))
	}
	return answers
}

// fill calls get for a path with all values of its parameters.
func fill(path string, names [][]string, ids map[string]map[string]bool, get func(string)) {
	if len(names) == 0 {
		get(path)
		return
	}
	for id := range ids[names[0][1]] {
		fill(strings.Replace(path, names[0][0], id, 1), names[1:], ids, get)
	}
}

// searchAll searches what gateways answer, log, send and store, and stops them. The log has a line that contains said.
func (h hidden) searchAll(t *testing.T, env *scenario.Env, db *database, said string, gateways ...*system.Service) {
	t.Helper()
	for path, answer := range everyAnswer(t, gateways[0]) {
		h.search(t, path, answer)
	}
	for table, rows := range everyRow(t, db.DSN()) {
		h.search(t, "the table "+table, rows)
	}
	for _, g := range gateways {
		must.Do(t, g.Stop()) // what is written at the end is looked at, too
		logged := false
		for _, l := range g.Log() {
			h.search(t, "the log", []byte(l.Raw))
			logged = logged || strings.Contains(l.Message, said)
		}
		if !logged {
			t.Errorf("the log does not have %q", said)
		}
	}
	for _, d := range env.Receiver.All() {
		h.search(t, "an event", d.Body)
		for name, values := range d.Header {
			h.search(t, "the header "+name+" of an event", []byte(strings.Join(values, " ")))
		}
	}
	for _, dir := range []string{env.Dir(), db.dir, os.TempDir()} { // the database with its journal, keys, evidence, scratch folders
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && (dir != os.TempDir() || strings.Contains(path, "stream-monitor-tools")) {
				content, _ := os.ReadFile(path)
				h.search(t, path, content)
			}
			return nil
		})
	}
}

// secretStream is a stream whose requests carry secrets.
type secretStream struct {
	url     string
	config  map[string]any
	values  hidden
	black   bool   // it has a picture, which goes black; else its sound stops
	trouble func() // from which on its alert follows
	refuse  func() // its media are refused from now on, which is an outage
}

// Two gateways with workers of both kinds watch streams of every source that has secrets, through an alert with its evidence and an
// outage. Twitch sends webhooks. Another source of secrets is another row.
func TestSecretsOfStreamsAreSeenNowhere(t *testing.T) { // decision A1, section 5.5
	const secretsKey = "a-5ecret-key-of-two-gateways"
	db := newDatabase(t)
	common := []string{db.dsn(), "LOG_LEVEL=debug", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + toolPath(t, "streamlink"),
		"SECRETS_KEY=" + secretsKey, "MEDIA_ALLOWED_NETWORKS=127.0.0.0/8",
		"TWITCH_CLIENT_ID=" + twitch.ClientID, "TWITCH_CLIENT_SECRET=" + twitch.ClientSecret, "TWITCH_EVENTSUB_URL=https://monitor.example"}
	var tw *twitch.Site
	env := startConfigured(t, func(fakes *testenv.Env) []string {
		tw = twitch.New(fakes.YouTube)
		return append(common, "WORKER_RUNTIME=process")
	})
	tw.SendWebhooksTo(env.Service.URL())
	other := must.Get(env.StartBeside(t.Context(), testenv.Config{Binary: binary, Env: append(common, "WORKER_RUNTIME=inline")}))(t)
	t.Cleanup(func() { _ = other.Stop() })
	gateways := []*system.Service{env.Service, other}

	var all []secretStream
	for n := range gateways {
		all = append(all, twitchSecrets(t, env, tw, fmt.Sprint("secret_login_", n)), icySecrets(t, fmt.Sprint(n)),
			ownSecrets(t, env, fmt.Sprint("HLS", n), "master.m3u8", livestream.Packaging{Keys: livestream.OneKey}), ownSecrets(t, env, fmt.Sprint("DASH", n), "manifest.mpd", livestream.Packaging{DASH: livestream.TimelineTime}))
	}
	t.Parallel()
	values := hidden{"the secret of webhooks": string(eventsub.SecretOf(secretsKey))}
	for _, s := range all {
		for what, value := range s.values {
			values[what+" of "+s.url] = value
		}
	}
	settings := hidden{"SECRETS_KEY": secretsKey, "TWITCH_CLIENT_SECRET": twitch.ClientSecret}
	stopWatching := values.watchProcesses(t, settings, "twitch.tv/", gateways...)
	t.Run("streams", func(t *testing.T) {
		for n, s := range all {
			t.Run(s.url, func(t *testing.T) {
				t.Parallel()
				s.watch(t, env, gateways[n*len(gateways)/len(all)]) // the rows of a gateway follow each other
			})
		}
	})
	stopWatching()
	maps.Copy(values, settings)
	tokens := tw.Tokens()
	if len(tokens) == 0 {
		t.Error("Twitch was asked for no token")
	}
	for n, token := range tokens {
		values[fmt.Sprint("a token of the application ", n)] = token
	}
	values.searchAll(t, env, db, "ran yt-dlp", gateways...)
}

func (s secretStream) watch(t *testing.T, env *scenario.Env, gateway *system.Service) {
	registration := map[string]any{"stream_url": s.url, "callback_url": env.Receiver.URL(), "config": s.config}
	callOK(t, gateway, http.MethodPost, "/api/v1/preview", registration)
	a, err := gateway.Call(t.Context(), http.MethodPost, "/api/v1/monitors", registration, [2]string{"Idempotency-Key", s.url})
	id, _ := a.Body["monitor_id"].(string)
	if err != nil || a.Status != http.StatusCreated {
		t.Fatalf("the registration is answered %d %v, %v", a.Status, a.Body, err)
	}
	env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	s.trouble()
	alert := scenario.Blackout
	if !s.black {
		alert = "alert.silence"
	}
	env.WaitEvent(t, id, alert, time.Minute)
	s.refuse()
	env.WaitEvent(t, id, scenario.Outage, outageThreshold+2*time.Minute)
}

// twitchSecrets is a broadcast of Twitch for subscribers, the URLs of whose media are signed. Its starts and ends are pushed.
func twitchSecrets(t *testing.T, env *scenario.Env, tw *twitch.Site, login string) secretStream {
	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{ProgramTime: livestream.DateTimePerSegment}}))(t)
	tw.Broadcast(login, stream)
	tw.Set(login, twitch.Subscribers)
	config := fastConfig()
	config["cookie_jar"] = login
	uploadJar(t, env, login, ".twitch.tv", "TRUE", "auth-token", twitch.SubscriberToken)
	return secretStream{
		url: twitch.URL(login), config: config,
		values: hidden{"the signed path": "S1gnedTicket." + login, "the signature": "s1gnature", "the login": twitch.SubscriberToken},
		black:  true, trouble: func() {
			subscribed(t, tw, login)
			tw.Push(login, "stream.online")
			stream.Black(true)
		},
		refuse: func() {
			for _, part := range []livestream.Part{livestream.Playlists, livestream.Segments} {
				stream.Fail(part, httpfault.Status(http.StatusForbidden))
			}
		},
	}
}

// icySecrets is an audio stream that is behind a token and a login.
func icySecrets(t *testing.T, n string) secretStream {
	values := hidden{"the query": "query-5ecret-" + n, "the header": "header-5ecret-" + n}
	server := must.Get(icecast.New(t.Context(), icecast.MP3, icecast.Mount{Token: values["the query"], Authorization: "Bearer " + values["the header"]}))(t)
	t.Cleanup(server.Close)
	config := fastConfig()
	config["http_headers"] = map[string]any{"Authorization": "Bearer " + values["the header"]}
	return secretStream{
		url: server.StreamURL() + "?token=" + values["the query"], config: config, values: values,
		trouble: func() { server.Set(func(m *icecast.Mount) { m.Silent = true }) },
		refuse: func() {
			server.Set(func(m *icecast.Mount) { m.Status = http.StatusForbidden })
			server.Drop()
		},
	}
}

// ownSecrets is a stream of one's own CDN that wants a token, a header field and a cookie with each request.
func ownSecrets(t *testing.T, env *scenario.Env, name, entry string, packaging livestream.Packaging) secretStream {
	values := hidden{
		"the query": "query-5ecret-" + name, "the header": "header-5ecret-" + name, "the cookie": "cookie-5ecret-" + name,
		"the token URL": "s3cr3t", "a token": "t0k3n-", "the session": "session-5ecret-" + name,
	}
	server := cdn.New()
	t.Cleanup(server.Close)
	packaging.ProgramTime = livestream.DateTimePerSegment
	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Packaging: packaging}))(t)
	server.Set(func(s *cdn.State) {
		s.Stream, s.TokenLife, s.Session = stream, 20*time.Second, values["the session"]
		s.Wants = func(r *http.Request) bool {
			return r.Header.Get("X-Key") == values["the header"] && strings.Contains(r.Header.Get("Cookie"), values["the cookie"])
		}
	})
	uploadJar(t, env, name, "127.0.0.1", "FALSE", "session", values["the cookie"])
	config := fastConfig()
	config["http_headers"] = map[string]any{"X-Key": values["the header"]}
	config["cookie_jar"], config["token_url"], config["copy_query"] = name, server.TokenURL(), true
	return secretStream{
		url: server.StreamURL(entry) + "?sig=" + values["the query"], config: config, values: values,
		black: true, trouble: func() { stream.Black(true) },
		refuse: func() { server.Set(func(s *cdn.State) { s.TokenStatus = http.StatusForbidden }) },
	}
}

// uploadJar makes a cookie jar of one cookie.
func uploadJar(t *testing.T, env *scenario.Env, name, domain, subdomains, cookie, value string) {
	t.Helper()
	jar := fmt.Sprintf("# Netscape HTTP Cookie File\n%s\t%s\t/\tFALSE\t%d\t%s\t%s\n", domain, subdomains, time.Now().Add(time.Hour).Unix(), cookie, value)
	uploaded, err := env.Service.Call(t.Context(), http.MethodPost, "/api/v1/cookie-jars?name="+name, []byte(jar), [2]string{"Content-Type", "text/plain"})
	if err != nil || uploaded.Status != http.StatusCreated {
		t.Fatalf("the upload is answered %d %v, %v", uploaded.Status, uploaded.Body, err)
	}
}
