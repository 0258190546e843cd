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
	aStream   = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	aCallback = "https://example.com/hook"
)

// desk is a Service over fakes, with a clock that stands still.
type desk struct {
	*registry.Service
	t       *testing.T
	store   *registrytest.Store
	crew    *registrytest.WorkerManager
	courier *registrytest.TestSender
	policy  *registrytest.CallbackPolicy // may be changed
}

func open(t *testing.T, limit int, policy registrytest.CallbackPolicy) desk {
	t.Helper()
	d := openWith(t, func(c *registry.Config) { c.MaxMonitors = limit })
	*d.policy = policy
	return d
}

func openWith(t *testing.T, change ...func(*registry.Config)) desk {
	t.Helper()
	d := desk{t: t, store: &registrytest.Store{}, crew: &registrytest.WorkerManager{}, courier: &registrytest.TestSender{}, policy: new(registrytest.CallbackPolicy)}
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
	policy := registrytest.CallbackPolicy(func(u monitor.CallbackURL) error { return d.policy.Check(context.Background(), u) })
	service, err := registry.New(d.store, d.crew, policy, d.courier, cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Service = service
	return d
}

// registers registers a stream of which only the last letter of the id differs.
func (d desk) registers(last string) monitor.Monitor {
	d.t.Helper()
	m, err := d.Register(context.Background(), request(last))
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

func request(last string) registry.Request {
	return registry.Request{
		StreamURL:   strings.TrimSuffix(aStream, "Q") + last,
		CallbackURL: aCallback,
		Config:      monitor.DefaultConfig(),
	}
}

func mustBe(t *testing.T, err error, code monitor.Code) {
	t.Helper()
	var coded *monitor.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("error is %v; expected %s", err, code)
	}
}
