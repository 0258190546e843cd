package httpapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/registry/registrytest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	aKey         = "the public key"
	anInnerKey   = "the internal key"
	aStream      = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	registration = `{"stream_url":"` + aStream + `","callback_url":"https://example.com/hook"}`
	publicKey    = "X-Api-Key"          // as net/http writes X-API-Key
	internalKey  = "X-Internal-Api-Key" // as net/http writes X-Internal-API-Key
	noSuchID     = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"
	budget       = 100 // of each kind, which the clock that stands still does not give back
)

var (
	tokyo = time.FixedZone("JST", 9*60*60)
	now   = time.Date(2024, 1, 15, 10, 55, 0, 123456789, time.UTC)
)

// gate is an API over fakes. Every answer it gives is held against
// openapi.yaml.
type gate struct {
	t       *testing.T
	api     *httpapi.API
	store   *registrytest.Store
	crew    *registrytest.WorkerManager
	courier *registrytest.TestSender
	log     *bytes.Buffer
	policy  error // what the callback policy says
	ready   error // what the readiness check says

	undescribed bool // answers are not held against openapi.yaml
}

func open(t *testing.T, change ...func(*httpapi.Config)) *gate {
	t.Helper()
	g := &gate{t: t, store: &registrytest.Store{}, crew: &registrytest.WorkerManager{}, courier: &registrytest.TestSender{}, log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n := uint32(0)
	service, err := registry.New(g.store, g.crew, registrytest.CallbackPolicy(func(monitor.CallbackURL) error { return g.policy }), g.courier, registry.Config{
		MaxMonitors:  3,
		CreatePerMin: budget,
		QueryPerMin:  budget,
		NewUUID: func() (u [16]byte) {
			n++
			u[6], u[8] = 0x70, 0x80
			binary.BigEndian.PutUint32(u[12:], n)
			return u
		},
		Now:  func() time.Time { return now },
		Zone: tokyo,
		Log:  log,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := httpapi.Config{APIKey: aKey, InternalAPIKey: anInnerKey, Zone: tokyo, Log: log}
	for _, c := range change {
		c(&cfg)
	}
	g.api, err = httpapi.New(service, func(context.Context) error { return g.ready }, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// do sends a request as it is, with no key added.
func (g *gate) do(r *http.Request) answer {
	g.t.Helper()
	w := httptest.NewRecorder()
	handler := g.api.Public()
	if strings.HasPrefix(r.URL.Path, "/internal/") {
		handler = g.api.Internal()
	}
	handler.ServeHTTP(w, r)
	a := answer{g.t, w.Code, w.Header(), w.Body.Bytes()}
	if !g.undescribed {
		document(g.t).holds(g.t, r, a)
	}
	return a
}

func req(method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(path, "/internal/") {
		r.Header.Set(internalKey, anInnerKey)
	} else {
		r.Header.Set(publicKey, aKey)
	}
	return r
}

func (g *gate) get(path string) answer { g.t.Helper(); return g.do(req("GET", path, nil)) }
func (g *gate) delete(path string) answer {
	g.t.Helper()
	return g.do(req("DELETE", path, nil))
}
func (g *gate) post(path, body string) answer {
	g.t.Helper()
	return g.do(req("POST", path, strings.NewReader(body)))
}
func (g *gate) put(path, body string) answer {
	g.t.Helper()
	return g.do(req("PUT", path, strings.NewReader(body)))
}

// exhausts uses up both budgets.
func (g *gate) exhausts() {
	g.t.Helper()
	for range budget {
		g.get("/api/v1/monitors")
		g.post("/api/v1/webhooks/test", "")
	}
}

// registers registers the stream whose video id ends in last.
func (g *gate) registers(last string) monitor.ID {
	g.t.Helper()
	a := g.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "Xc"+last, 1))
	a.is(http.StatusCreated)
	return monitor.ID(a.json()["monitor_id"].(string))
}

func (a answer) json() map[string]any {
	a.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("the body is not a JSON object: %v: %s", err, a.body)
	}
	return m
}

func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status is %d, expected %d: %s", a.status, status, a.body)
	}
	return a
}

// fails expects the envelope with a code, and words in its message.
func (a answer) fails(status int, code monitor.Code, words ...string) {
	a.t.Helper()
	a.is(status)
	envelope, _ := a.json()["error"].(map[string]any)
	if envelope["code"] != string(code) {
		a.t.Errorf("code is %v, expected %s", envelope["code"], code)
	}
	message, _ := envelope["message"].(string)
	for _, word := range words {
		if !strings.Contains(message, word) {
			a.t.Errorf("the message lacks %q: %s", word, message)
		}
	}
}

// equals compares the body with JSON, whatever the order of fields.
func (a answer) equals(expected string) {
	a.t.Helper()
	var e any
	if err := json.Unmarshal([]byte(expected), &e); err != nil {
		a.t.Fatal(err)
	}
	want, _ := json.Marshal(e)
	if got, _ := json.Marshal(a.json()); !bytes.Equal(got, want) {
		a.t.Errorf("the body is\n%s, expected\n%s", got, want)
	}
}
