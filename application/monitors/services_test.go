package monitors_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

const (
	streamURL   = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	callbackURL = "https://example.com/hook"
)

// server is a real PostgreSQL that all tests share, whose clock stands.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{Now: noon}, func(s *postgrestest.Server) { server = s }))
}

// testService has the Services, with a real store, fakes and a fixed clock.
type testService struct {
	*monitors.Registrar
	*monitors.Previewer
	*monitors.Editor
	*monitors.MonitorReader
	*monitors.EventService
	*monitors.WebhookTester
	*monitors.RateLimiter

	t       *testing.T
	store   *monitorstest.Store
	workers *monitorstest.WorkerManager
	sender  *monitorstest.TestSender
	policy  *monitorstest.CallbackPolicy // may be changed
}

func newService(t *testing.T, limit int, policy monitorstest.CallbackPolicy) testService {
	t.Helper()
	s := newServiceWith(t, func(c *monitors.Config) { c.MaxMonitors = limit })
	*s.policy = policy
	return s
}

func newServiceWith(t *testing.T, change ...func(*monitors.Config)) testService {
	t.Helper()
	store, workers, sender, policy := &monitorstest.Store{Next: server.Store(t)}, &monitorstest.WorkerManager{}, &monitorstest.TestSender{}, new(monitorstest.CallbackPolicy)
	n := uint32(0)
	cfg := monitors.Config{
		NewUUID: func() (u [16]byte) {
			n++
			u[6], u[8] = 0x70, 0x80
			binary.BigEndian.PutUint32(u[12:], n)
			return u
		},
		Now:  func() time.Time { return noon },
		Zone: time.UTC,
		Log:  slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	changeable := monitorstest.CallbackPolicy(func(u monitor.CallbackURL) error { return policy.Check(context.Background(), u) })
	all, err := monitors.NewServices(store, workers, changeable, sender, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return testService{
		all.Registrar, all.Previewer, all.Editor, all.Monitors, all.Events, all.WebhookTester, all.RateLimiter,
		t, store, workers, sender, policy,
	}
}

// register registers the stream whose video id ends in last.
func (s testService) register(last string) monitor.Monitor {
	s.t.Helper()
	m, err := s.Register(context.Background(), request(last))
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func request(last string) monitors.Request {
	return monitors.Request{
		StreamURL:   strings.TrimSuffix(streamURL, "Q") + last,
		CallbackURL: new(callbackURL),
		Config:      monitor.DefaultConfig(),
	}
}

func requireCode(t *testing.T, err error, code monitor.Code) {
	t.Helper()
	var coded *monitor.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("error is %v; expected %s", err, code)
	}
}

func TestATestWebhookIsSentOnce(t *testing.T) {
	ctx := context.Background()

	t.Run("sends one signed webhook and returns its outcome", func(t *testing.T) {
		s := newService(t, 50, nil)
		s.sender.Answer = event.Attempt{Status: 500, Error: "the receiver answered 500"}
		result, err := s.TestWebhook(ctx, callbackURL)
		if err != nil || result.Attempt.Status != 500 {
			t.Fatalf("result is %+v, %v", result, err)
		}
		webhooks := s.sender.Sent()
		if len(webhooks) != 1 || webhooks[0].To != callbackURL || webhooks[0].Type != "webhook.test" || webhooks[0].EventID != result.EventID {
			t.Fatalf("sent %+v", webhooks)
		}
		var body map[string]any
		if err := json.Unmarshal(webhooks[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		if body["event_id"] != result.EventID || body["event_type"] != "webhook.test" || body["timestamp"] != "2024-01-15T12:00:00Z" {
			t.Errorf("body is %v", body)
		}
		if _, err := monitor.ParseID(body["monitor_id"].(string)); err != nil {
			t.Errorf("monitor_id: %v", err)
		}
		if _, err := monitor.ParseStreamURL(body["stream_url"].(string)); err != nil {
			t.Errorf("stream_url: %v", err)
		}
	})
	t.Run("sends nothing to a refused URL", func(t *testing.T) {
		s := newService(t, 50, func(monitor.CallbackURL) error { return monitor.Errorf(monitor.InvalidURL, "private") })
		_, err := s.TestWebhook(ctx, callbackURL)
		requireCode(t, err, monitor.InvalidURL)
		_, err = s.TestWebhook(ctx, "ftp://example.com")
		requireCode(t, err, monitor.InvalidURL)
		if len(s.sender.Sent()) != 0 {
			t.Error("something was sent")
		}
	})
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	uuid := func() (u [16]byte) { return u }
	for name, cfg := range map[string]monitors.Config{
		"no source of ids":            {},
		"a negative maximum":          {NewUUID: uuid, MaxMonitors: -1},
		"a negative limit to create":  {NewUUID: uuid, CreatePerMin: -1},
		"too large a limit to create": {NewUUID: uuid, CreatePerMin: monitors.MaxPerMin + 1},
		"a negative limit to query":   {NewUUID: uuid, QueryPerMin: -1},
		"too large a limit to query":  {NewUUID: uuid, QueryPerMin: monitors.MaxPerMin + 1},
		"a negative lead":             {NewUUID: uuid, ScheduleLead: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := monitors.NewServices(nil, nil, nil, nil, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}

var client = monitors.Client{1}

// Section 12.3, decision A5. The requests that count, and the refusals, are tested in adapters/httpapi.
func TestARateLimitOfZeroAsksNoStore(t *testing.T) {
	for _, limit := range []monitors.RateLimit{monitors.Creating, monitors.Querying, monitors.Viewing, monitors.Previewing, monitors.Refusing} {
		s := newServiceWith(t)
		s.store.Fail = func(context.Context, string) error { return errors.New("the store was called") }
		if wait, err := s.Allow(t.Context(), client, limit); wait != 0 || err != nil {
			t.Errorf("%s: a request must wait %v: %v", limit, wait, err)
		}
	}
}

func TestARateLimitThatCannotBeReadIsNoRefusal(t *testing.T) {
	s := newServiceWith(t, func(c *monitors.Config) { c.CreatePerMin = 2 })
	broken := errors.New("disk full")
	s.store.Fail = func(context.Context, string) error { return broken }
	if wait, err := s.Allow(t.Context(), client, monitors.Creating); wait != 0 || !errors.Is(err, broken) {
		t.Errorf("a request must wait %v: %v", wait, err)
	}
}

func TestRetryAfterIsRoundedUpToSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]int{
		1:                       1,
		time.Second:             1,
		time.Second + 1:         2,
		6 * time.Second:         6,
		5999 * time.Millisecond: 6,
		time.Minute:             60,
	} {
		if got := monitors.RetryAfterSeconds(wait); got != want {
			t.Errorf("a wait of %v is %d s, want %d", wait, got, want)
		}
	}
}
