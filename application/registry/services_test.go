package registry_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/registry/registrytest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

const (
	streamURL   = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	callbackURL = "https://example.com/hook"
)

// testService has the Services, with fakes and a fixed clock.
type testService struct {
	*registry.Registrar
	*registry.Previewer
	*registry.Editor
	*registry.MonitorReader
	*registry.EventService
	*registry.WorkerService
	*registry.WebhookTester
	*registry.RateLimiter

	t       *testing.T
	store   *registrytest.Store
	workers *registrytest.WorkerManager
	sender  *registrytest.TestSender
	policy  *registrytest.CallbackPolicy // may be changed
}

func newService(t *testing.T, limit int, policy registrytest.CallbackPolicy) testService {
	t.Helper()
	s := newServiceWith(t, func(c *registry.Config) { c.MaxMonitors = limit })
	*s.policy = policy
	return s
}

func newServiceWith(t *testing.T, change ...func(*registry.Config)) testService {
	t.Helper()
	store, workers, sender, policy := &registrytest.Store{}, &registrytest.WorkerManager{}, &registrytest.TestSender{}, new(registrytest.CallbackPolicy)
	n := uint32(0)
	cfg := registry.Config{
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
	changeable := registrytest.CallbackPolicy(func(u monitor.CallbackURL) error { return policy.Check(context.Background(), u) })
	all, err := registry.NewServices(store, workers, changeable, sender, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return testService{
		all.Registrar, all.Previewer, all.Editor, all.Monitors, all.Events, all.Workers, all.WebhookTester, all.RateLimiter,
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

func request(last string) registry.Request {
	return registry.Request{
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
