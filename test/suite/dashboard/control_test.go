package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// control lets scripts change the world around the real gateway:
//
//	POST /link                          {"link"}, which signs in once: the newest one in the log
//	POST /broadcast {"video","title"}   a live stream without a monitor: {"stream_url","callback_url"}
//	POST /stream  {"video","metadata"}  a live stream and its monitor: {"monitor_id"}
//	POST /black   {"video","on"}        its picture
//	POST /silent  {"video","on"}        its sound
//	POST /end     {"video"}             its end
//	POST /hang, /resume                 the gateway stops to answer, and goes on
//	POST /restart                       the gateway restarts at the same address
type control struct {
	env    *testenv.Env
	config testenv.Config
	url    string
	ctx    context.Context

	mu      sync.Mutex
	streams map[string]*livestream.Stream
}

// startControl starts the real gateway with short rules, and the control server.
func startControl(t *testing.T) *control {
	t.Helper()
	address, err := loopback.FreeAddress() // the same after a restart
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(t.TempDir() + "/gateway.log")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"LISTEN_ADDR=" + address, "API_KEY=", "DATA_DIR=" + dataWithKeys(t)}
	c := &control{ctx: t.Context(), config: testenv.Config{Binary: binary, Env: env, Log: log}, streams: map[string]*livestream.Stream{}}
	if c.env, err = testenv.Start(t.Context(), c.config); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.routes())
	c.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if t.Failed() {
			t.Logf("the log of the gateway ends:\n%s", c.env.Service.Tail(40))
		}
		if err := c.env.Close(); err != nil {
			t.Error(err)
		}
		_ = log.Close()
	})
	return c
}

// dataWithKeys returns a data directory with the keys of the tests as generated ones. A
// gateway without a configured API_KEY prints a link that signs in.
func dataWithKeys(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := system.StoreKeys(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// order is the body of a request to the control server.
type order struct {
	Video    string         `json:"video"`
	Title    string         `json:"title"`
	On       bool           `json:"on"`
	Metadata map[string]any `json:"metadata"`
}

func (c *control) routes() http.Handler {
	mux := http.NewServeMux()
	for path, carryOut := range map[string]func(order) (any, error){
		"POST /link":      c.link,
		"POST /broadcast": c.broadcast,
		"POST /stream":    c.stream,
		"POST /black":     c.change(func(s *livestream.Stream, on bool) { s.Black(on) }),
		"POST /silent":    c.change(func(s *livestream.Stream, on bool) { s.Silence(on) }),
		"POST /end":       c.change(func(s *livestream.Stream, _ bool) { s.End() }),
		"POST /hang":      func(order) (any, error) { return nil, c.env.Service.Signal(syscall.SIGSTOP) },
		"POST /resume":    func(order) (any, error) { return nil, c.env.Service.Signal(syscall.SIGCONT) },
		"POST /restart": func(order) (any, error) {
			return nil, c.env.Restart(c.ctx, c.config)
		},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			var o order
			err := json.NewDecoder(r.Body).Decode(&o)
			var answer any
			if err == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				answer, err = carryOut(o)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(answer)
		})
	}
	return mux
}

func (c *control) link(order) (any, error) {
	line, err := c.env.Service.WaitLog(c.ctx, func(l system.Line) bool { return strings.HasPrefix(l.Message, linkMessage) })
	return map[string]any{"link": line.Data["link"]}, err
}

func (c *control) broadcast(o order) (any, error) {
	stream, err := c.env.StartStream(c.ctx, o.Video, livestream.Config{})
	if err != nil {
		return nil, err
	}
	c.streams[o.Video] = stream
	if o.Title != "" {
		c.env.YouTube.Add(o.Video, youtube.Video{State: youtube.Live, Title: o.Title, Source: stream})
	}
	return map[string]any{"stream_url": c.env.YouTube.URL(o.Video), "callback_url": c.env.Receiver.URL()}, nil
}

func (c *control) stream(o order) (any, error) {
	if _, err := c.broadcast(o); err != nil {
		return nil, err
	}
	a, err := c.env.Service.Call(c.ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
		"stream_url": c.env.YouTube.URL(o.Video), "callback_url": c.env.Receiver.URL(), "metadata": o.Metadata,
		"config": map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 6, "silence_threshold_sec": 6},
	})
	if err == nil && a.Status != http.StatusCreated {
		err = fmt.Errorf("registering was answered with %d %v", a.Status, a.Body)
	}
	return a.Body, err
}

func (c *control) change(how func(*livestream.Stream, bool)) func(order) (any, error) {
	return func(o order) (any, error) {
		s := c.streams[o.Video]
		if s == nil {
			return nil, fmt.Errorf("there is no stream %q", o.Video)
		}
		how(s, o.On)
		return nil, nil
	}
}
