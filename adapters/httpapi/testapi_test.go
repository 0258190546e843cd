package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/application/feed/feedtest"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	workerrequest "github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	apiKey            = "the public key"
	internalAPIKey    = "the internal key"
	streamURL         = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	registration      = `{"stream_url":"` + streamURL + `","callback_url":"https://example.com/hook"}`
	publicKeyHeader   = "X-Api-Key"          // as net/http writes X-API-Key
	internalKeyHeader = "X-Internal-Api-Key" // as net/http writes X-Internal-API-Key
	noSuchID          = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"
	linkKey           = "the key of signed links"
	requestsPerMin    = 100 // of each rate limit; the fixed clock never restores it
)

var (
	tokyo = time.FixedZone("JST", 9*60*60)
	now   = time.Date(2024, 1, 15, 10, 55, 0, 123456000, time.UTC)
)

// testAPI is an API with a database and fakes. do validates every response against openapi.yaml.
type testAPI struct {
	stores

	t           testing.TB
	db          *postgrestest.Store
	handlers    *httpapi.API
	store       *monitorstest.Store
	feed        *feedtest.Store
	tests       *exampleSender
	hub         *feeds.Feed
	workers     *monitorstest.WorkerManager
	sender      *monitorstest.TestSender
	log         *bytes.Buffer
	policy      error        // of the callback policy
	ready       error        // of the readiness check
	at          time.Time    // on the clock of the API
	whenChecked func()       // called by the readiness check; may be nil
	resolve     resolverFunc // of previews
	egress      []egress.Status
	youTubeAPI  *officialstate.Status
	twitchAPI   *officialstate.Rounds
	eventSub    *eventsub.Status
	page        listerFunc // of channels

	serverTimeout time.Duration // of the servers of the feed; 0: none
	unvalidated   bool          // responses are not compared with openapi.yaml
}

// testConfig is the configuration of a testAPI.
type testConfig struct {
	httpapi.Config
	maxMonitors               int
	createPerMin, queryPerMin int                 // 0: no limit
	db                        *postgrestest.Store // which gateways may share
	madeIDs                   uint32              // that other gateways have made
}

// rateLimits sets the rate limits per minute, and allows more monitors than they do.
func rateLimits(create, query int) func(*testConfig) {
	return func(c *testConfig) { c.createPerMin, c.queryPerMin, c.maxMonitors = create, query, 50 }
}

// besides makes another gateway on the stores of this one, with another API_KEY if it is not empty.
func besides(api *testAPI, key string) func(*testConfig) {
	return func(c *testConfig) { c.db, c.madeIDs, c.APIKey = api.db, 1000, cmp.Or(key, apiKey) }
}

func newTestAPI(t testing.TB, change ...func(*testConfig)) *testAPI {
	t.Helper()
	dashboard := must.Get(dashboardOnce())(t)
	api := &testAPI{t: t, at: now, feed: feedtest.NewStore(now), tests: &exampleSender{result: message.Result{Attempt: event.Attempt{At: now, Status: 200}}}, workers: &monitorstest.WorkerManager{}, sender: &monitorstest.TestSender{}, log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(api.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg := testConfig{
		Config:      httpapi.Config{LinkKeys: evidence.LinkKeys{linkKey}, APIKey: apiKey, InternalAPIKey: internalAPIKey, Zone: tokyo, Dashboard: dashboard, Log: log, Now: func() time.Time { return api.at }},
		maxMonitors: 3, createPerMin: requestsPerMin, queryPerMin: requestsPerMin,
	}
	for _, c := range change {
		c(&cfg)
	}
	api.db = cfg.db
	if api.db == nil {
		api.db = server.Store(t)
	}
	api.store = &monitorstest.Store{Next: api.db}
	api.use(api.db)
	api.resolve = func(context.Context, monitor.StreamURL) watch.Resolution { return watch.Resolution{State: watch.Live} }
	api.page = listChannel
	n := cfg.madeIDs
	jars := newCookieJars(&api.cookieJars, func() time.Time { return now }, log)
	service := must.Get(monitors.NewServices(api.store, api.workers, monitorstest.CallbackPolicy(func(monitor.CallbackURL) error { return api.policy }), api.sender, monitors.Config{
		MaxMonitors:  cfg.maxMonitors,
		CreatePerMin: cfg.createPerMin,
		QueryPerMin:  cfg.queryPerMin,
		NewUUID: func() (u [16]byte) {
			n++
			u[6], u[8] = 0x70, 0x80
			binary.BigEndian.PutUint32(u[12:], n)
			return u
		},
		Now:        func() time.Time { return now },
		Zone:       tokyo,
		Log:        log,
		CookieJars: preparedJars{jars},
		WithSecret: workerrequest.WithSecret,
		Resolver:   resolverFunc(func(ctx context.Context, url monitor.StreamURL) watch.Resolution { return api.resolve(ctx, url) }),
	}))(t)
	records := must.Get(evidences.NewService(&api.evidence, &api.blobs, evidences.Config{
		Keys: evidence.LinkKeys{linkKey}, MaxUploads: 2, MaxDownloads: 2, MaxWait: time.Millisecond,
		Now: func() time.Time { return now }, Log: log,
	}))(t)
	past := histories.NewService(&api.history, func() time.Time { return now })
	created := 0
	routes := must.Get(routing.NewServices(&api.routing, routing.Config{
		NewID: func() string { created++; return fmt.Sprintf("0190a5d4-0000-7000-8000-%012d", created) },
		Test:  api.tests, Replay: &api.replays, Subjects: api.db, Now: func() time.Time { return now },
	}))(t)
	secrets := 0
	keys := must.Get(keyring.New(&api.keys, keyring.Config{
		NewID:     func() string { secrets++; return fmt.Sprintf("0190a5d7-0000-7000-8000-%012d", secrets) },
		NewSecret: func() string { return fmt.Sprintf("the secret of key %d", secrets) }, Now: cfg.Now, Log: log,
	}))(t)
	audit := keyring.NewAudit(&api.audit, time.Hour, log)
	api.hub = runFeed(t, api.feed)
	info := testInfo()
	info.Egress = func() []egress.Status { return api.egress }
	info.YouTubeAPI = func(context.Context) *officialstate.Status { return api.youTubeAPI }
	info.EventSub = func(context.Context) *eventsub.Status { return api.eventSub }
	info.TwitchAPI = func(context.Context) *officialstate.Rounds { return api.twitchAPI }
	api.handlers = must.Get(httpapi.New(httpapi.Services{Monitors: service, Workers: intake.NewWorkerService(api.store, jars, api.workers, func() time.Time { return now }, log), Evidence: records, History: past, Incidents: incidents.NewService(&api.incidents), Feed: api.hub, Routing: routes, Keys: keys, Audit: audit, SessionKeys: keyring.NewSessionKeys(&api.sessionKeys, func() (k keyring.SessionKey) { _, _ = rand.Read(k[:]); return k }), Thumbnails: evidences.NewThumbnails(&api.thumbnails, func() time.Time { return now }), References: newReferences(&api.references, func() time.Time { return now }), CookieJars: jars, IngestLogins: newIngestLogins(&api.logins, func() time.Time { return now }), Channels: newChannels(api, service), Pushes: pushes.NewService(&api.pushes, eventSubSecret, func() time.Time { return api.at }, log), Info: info}, func(context.Context) error {
		if api.whenChecked != nil {
			api.whenChecked()
		}
		return api.ready
	}, cfg.Config))(t)
	return api
}

// breakStores lets every store fail, but counts and records requests.
func (api *testAPI) breakStores(err error) {
	api.policy = err
	api.store.Fail = func(_ context.Context, op string) error {
		if op == "Allow" {
			return nil
		}
		return err
	}
	if !errors.Is(err, context.DeadlineExceeded) { // a database keeps to the deadline of a request
		api.breakAll()
	}
}

// breakRateLimits lets the count of requests fail.
func (api *testAPI) breakRateLimits(err error) {
	api.store.Fail = func(context.Context, string) error { return err }
}

// dashboardOnce returns the embedded dashboard, which may not be built.
var dashboardOnce = sync.OnceValues(func() (*ui.Dashboard, error) { return ui.New("") })

// resolverFunc is a monitors.StreamResolver.
type resolverFunc func(context.Context, monitor.StreamURL) watch.Resolution

func (f resolverFunc) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	return f(ctx, url)
}

// runFeed returns a feed that is followed until the test ends, by at most 2 readers.
func runFeed(t testing.TB, store *feedtest.Store) *feeds.Feed {
	t.Helper()
	f := must.Get(feeds.New(store, store.Wakes, feeds.Config{MaxReaders: 2, Heartbeat: 50 * time.Millisecond}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	for {
		reader, err := f.Follow("", feed.Position{})
		if err == nil {
			reader.Close()
			return f
		}
		runtime.Gosched() // it has not begun yet
	}
}

// response is a recorded HTTP response.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request without adding a key.
func (api *testAPI) do(r *http.Request) response {
	api.t.Helper()
	w := httptest.NewRecorder()
	handler := api.handlers.Public()
	if strings.HasPrefix(r.URL.Path, "/internal/") {
		handler = api.handlers.Internal()
	}
	handler.ServeHTTP(w, r)
	a := response{api.t, w.Code, w.Header(), w.Body.Bytes()}
	if !api.unvalidated {
		document(api.t).validate(api.t, r, a)
	}
	return a
}

// tokenFor returns the token of the monitor in the path of a request, and of the generation in its query; without one, of
// the first.
func tokenFor(r *http.Request) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/internal/v1/monitors/"), "/")
	generation, err := strconv.Atoi(r.URL.Query().Get("generation"))
	if err != nil {
		generation = 1
	}
	return monitor.NewTokenKey(internalAPIKey).Token(monitor.ID(id), generation)
}

func newRequest(method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(path, "/internal/") {
		r.Header.Set(internalKeyHeader, tokenFor(r))
	} else {
		r.Header.Set(publicKeyHeader, apiKey)
	}
	return r
}

func (api *testAPI) get(path string) response {
	api.t.Helper()
	return api.do(newRequest("GET", path, nil))
}
func (api *testAPI) delete(path string) response {
	api.t.Helper()
	return api.do(newRequest("DELETE", path, nil))
}
func (api *testAPI) post(path, body string) response {
	api.t.Helper()
	return api.do(newRequest("POST", path, strings.NewReader(body)))
}
func (api *testAPI) patch(path, body string) response {
	api.t.Helper()
	return api.do(newRequest("PATCH", path, strings.NewReader(body)))
}
func (api *testAPI) put(path, body string) response {
	api.t.Helper()
	return api.do(newRequest("PUT", path, strings.NewReader(body)))
}

// pages follows a list to its end by what each page says of the next, and returns the field of all that it has.
func (api *testAPI) pages(path, list, field, next string) (got []string) {
	api.t.Helper()
	for page := path; ; {
		body := api.get(page).hasStatus(http.StatusOK).json()
		for _, o := range body[list].([]any) {
			got = append(got, fmt.Sprint(o.(map[string]any)[field]))
		}
		after, more := body["next"].(string)
		if !more || len(got) > 10 {
			return got
		}
		page = path + "&" + next + "=" + url.QueryEscape(after)
	}
}

// list returns the objects of a list.
func (api *testAPI) list(path, name string) []any {
	api.t.Helper()
	return api.get(path).hasStatus(http.StatusOK).json()[name].([]any)
}

// logged returns the log as the body of a response.
func (api *testAPI) logged() response { return response{t: api.t, body: api.log.Bytes()} }

// exhaustRateLimits uses up both rate limits.
func (api *testAPI) exhaustRateLimits() {
	api.t.Helper()
	api.get("/api/v1/monitors")
	api.post("/api/v1/webhooks/test", "")
	api.post("/api/v1/preview", "")
	api.db.Exec(api.t, `UPDATE rate_limits SET arrival_at = arrival_at + interval '1 minute'`)
}

// register registers the stream whose video id ends in last.
func (api *testAPI) register(last string) monitor.ID {
	api.t.Helper()
	a := api.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "Xc"+last, 1))
	a.hasStatus(http.StatusCreated)
	return monitor.ID(a.json()["monitor_id"].(string))
}

func (a response) json() map[string]any {
	a.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("the body is not a JSON object: %v: %s", err, a.body)
	}
	return m
}

func (a response) hasStatus(status int) response {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status is %d, expected %d: %s", a.status, status, a.body)
	}
	return a
}

// hasError expects the envelope with a code, and words in its message.
func (a response) hasError(status int, code monitor.Code, words ...string) response {
	a.t.Helper()
	a.hasStatus(status)
	envelope, _ := a.json()["error"].(map[string]any)
	if envelope["code"] != string(code) {
		a.t.Errorf("code is %v, expected %s", envelope["code"], code)
	}
	message, _ := envelope["message"].(string)
	expect.Text(a.t, "the message", message, words...)
	return a
}

// hasWords expects words in the body.
func (a response) hasWords(words ...string) response {
	a.t.Helper()
	expect.Text(a.t, "the body", string(a.body), words...)
	return a
}

// lacksWords expects that no word is in the body.
func (a response) lacksWords(words ...string) response {
	a.t.Helper()
	for _, word := range words {
		if strings.Contains(string(a.body), word) {
			a.t.Errorf("%q is in %s", word, a.body)
		}
	}
	return a
}

// hasHeaders expects values of headers, in pairs; "": there is no such header.
func (a response) hasHeaders(pairs ...string) response {
	a.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		expect.Equal(a.t, pairs[i], a.header.Get(pairs[i]), pairs[i+1])
	}
	return a
}

// hasFields expects fields of the object in the body, in pairs of name and value; nil: null, or there is no such field.
func (a response) hasFields(pairs ...any) response {
	a.t.Helper()
	object := a.json()
	for i := 0; i < len(pairs); i += 2 {
		expect.Equal(a.t, pairs[i].(string), object[pairs[i].(string)], pairs[i+1])
	}
	return a
}

// hasBody compares the body with JSON, whatever the order of fields.
func (a response) hasBody(expected string) {
	a.t.Helper()
	var e any
	must.Do(a.t, json.Unmarshal([]byte(expected), &e))
	want, _ := json.Marshal(e)
	if got, _ := json.Marshal(a.json()); !bytes.Equal(got, want) {
		a.t.Errorf("the body is\n%s, expected\n%s", got, want)
	}
}

// server is a real PostgreSQL that all tests share, whose clock stands.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{Now: now}, func(s *postgrestest.Server) { server = s }))
}
