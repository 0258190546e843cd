package acceptance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// feedMessage is a message of the feed.
type feedMessage struct {
	ID      string         `json:"id"`
	Version int64          `json:"version"`
	Type    string         `json:"type"`
	Data    map[string]any `json:"data"`
	arrived time.Time
}

// feedFollower follows the feed of a gateway as an EventSource does.
type feedFollower struct {
	t    *testing.T
	done chan struct{} // closed when the connection has ended

	mu       sync.Mutex
	messages []feedMessage
	lastID   string
}

// connect connects to a gateway and continues by the last id.
func (f *feedFollower) connect(s *system.Service) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/api/v1/feed", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("X-API-Key", system.APIKey)
	r.Header.Set("Accept", "text/event-stream")
	if f.lastID != "" {
		r.Header.Set("Last-Event-ID", f.lastID)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	var response *http.Response
	eventually(f.t, 10*time.Second, "the feed answers", func() bool {
		if response, err = client.Do(r); err != nil {
			f.t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK {
			return true
		}
		if response.Body.Close(); response.StatusCode != http.StatusServiceUnavailable { // it has just started
			f.t.Fatalf("the feed was answered with %d", response.StatusCode)
		}
		return false
	})
	done := make(chan struct{})
	f.done = done
	go func() {
		defer close(done)
		defer response.Body.Close()
		f.read(bufio.NewReader(response.Body))
	}()
	f.t.Cleanup(func() { cancel(); <-done })
}

func (f *feedFollower) read(from *bufio.Reader) {
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		f.mu.Lock()
		if id, is := strings.CutPrefix(line, "id: "); is {
			f.lastID = strings.TrimSpace(id)
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			m := feedMessage{arrived: time.Now()}
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				f.t.Errorf("no JSON in the feed: %v: %s", err, data)
			}
			f.messages = append(f.messages, m)
		}
		f.mu.Unlock()
	}
}

func (f *feedFollower) all() []feedMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]feedMessage(nil), f.messages...)
}

// wait waits for a message of a type whose data has the fields.
func (f *feedFollower) wait(within time.Duration, messageType string, fields map[string]any) {
	f.t.Helper()
	eventually(f.t, within, fmt.Sprintf("%s with %v in the feed", messageType, fields), func() bool {
		for _, m := range f.all() {
			if m.Type == messageType && hasFields(m.Data, fields) {
				return true
			}
		}
		return false
	})
}

// hasFields compares fields with values. The name "health.video" means video of health.
func hasFields(data, fields map[string]any) bool {
	for name, want := range fields {
		value := any(data)
		for part := range strings.SplitSeq(name, ".") {
			object, _ := value.(map[string]any)
			value = object[part]
		}
		if value != want {
			return false
		}
	}
	return true
}

// assertComplete checks that no version was skipped or came twice, and that heartbeats
// came in time while the gateway ran.
func (f *feedFollower) assertComplete(restarted time.Time) {
	f.t.Helper()
	var last int64
	var beat time.Time
	for i, m := range f.all() {
		switch {
		case m.Type == "heartbeat":
			if beat.IsZero() {
				beat = m.arrived
			}
			acrossRestart := beat.Before(restarted) && m.arrived.After(restarted)
			if gap := m.arrived.Sub(beat); gap > 10*time.Second+busyMachine && !acrossRestart {
				f.t.Errorf("%s between two heartbeats", gap)
			}
			beat = m.arrived
		case m.Type == "state.replace":
			if i > 1 { // the first heartbeat may precede it
				f.t.Errorf("message %d is state.replace: the reader could not continue", i)
			}
			last = m.Version
		case m.ID != "":
			if m.Version != last+1 {
				f.t.Errorf("version %d came after %d", m.Version, last)
			}
			last = m.Version
		}
	}
}

func TestTheFeedTellsEveryChangeAlsoAcrossARestart(t *testing.T) { // section 16.4
	runTimeline(t, 1, 75*time.Second)
	env := startEnv(t)
	f := &feedFollower{t: t}
	f.connect(env.Service)
	f.wait(10*time.Second, "state.replace", nil)
	p := watchStream(t, env, livestream.Config{}, nil)
	f.wait(time.Second, "monitor.updated", map[string]any{"monitor_id": p.id, "status": "initializing"})
	f.wait(10*time.Second, "monitor.updated", map[string]any{"monitor_id": p.id, "status": "monitoring", "stream_status": "live", "health.video": "ok"})
	f.wait(10*time.Second, "heartbeat", map[string]any{"checker.watched": 1.0, "checker.late": 0.0})

	p.Black(true)
	alert := p.waitEvent(blackoutAlert, 60*time.Second)
	f.wait(5*time.Second, "monitor.updated", map[string]any{"monitor_id": p.id, "health.video": "black"})
	f.wait(5*time.Second, "delivery.updated", map[string]any{"event_id": alert.EventID, "webhook_status": "pending"})
	f.wait(5*time.Second, "delivery.updated", map[string]any{"event_id": alert.EventID, "webhook_status": "sent", "webhook_attempts": 1.0})
	f.wait(5*time.Second, "incident.updated", map[string]any{"monitor_id": p.id, "state": "open"})

	began := time.Now()
	if err := env.Restart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	f.wait(time.Second, "bye", map[string]any{"reason": "shutdown"})
	<-f.done
	waitReady(t, env)
	f.connect(env.Service)

	p.Black(false)
	back := p.waitEvent(blackoutRecovered, 60*time.Second)
	f.wait(5*time.Second, "delivery.updated", map[string]any{"event_id": back.EventID, "webhook_status": "sent"})
	if a, err := env.Service.Call(t.Context(), http.MethodDelete, "/api/v1/monitors/"+p.id, nil); err != nil || a.Status != http.StatusOK {
		t.Fatalf("stopping was answered with %d, %v", a.Status, err)
	}
	f.wait(2*time.Second, "monitor.updated", map[string]any{"monitor_id": p.id, "status": "stopped"})
	f.assertComplete(began)
}
