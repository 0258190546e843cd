package monitors_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
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
		CallbackURL: callbackURL,
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
