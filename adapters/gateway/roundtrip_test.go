package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/evidence/evidencetest"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// realGateway is the real internal API, with the services behind it and their stores.
type realGateway struct {
	url           string
	monitors      *monitors.Services
	store         *monitorstest.Store
	evidence      *evidences.Service
	evidenceStore *evidencetest.Store
}

func newRealGateway(t *testing.T) *realGateway {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	g := &realGateway{store: &monitorstest.Store{}, evidenceStore: &evidencetest.Store{}}
	var err error
	g.monitors, err = monitors.NewServices(g.store, &monitorstest.WorkerManager{}, monitorstest.CallbackPolicy(nil), &monitorstest.TestSender{}, monitors.Config{
		NewUUID: func() (u [16]byte) { u[6], u[8] = 0x70, 0x80; return u }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	g.evidence, err = evidences.NewService(g.evidenceStore, &evidencetest.BlobStore{}, evidences.Config{
		Keys: evidence.LinkKeys{"the key of links in this test"}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Services{
		Monitors: g.monitors, Evidence: g.evidence, Routing: &routing.Services{},
		Workers: intake.NewWorkerService(g.store, &monitorstest.WorkerManager{}, nil, nil),
	}, func(context.Context) error { return nil }, httpapi.Config{
		APIKey: "the public key", InternalAPIKey: internalKey, Zone: time.FixedZone("JST", 9*60*60), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.Internal())
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func TestAssignmentsAndReportsArriveUnchanged(t *testing.T) {
	ctx := context.Background()
	remote := newRealGateway(t)
	service, store := remote.monitors, remote.store
	config := monitor.DefaultConfig()
	start := time.Date(2024, 1, 15, 20, 0, 0, 0, time.UTC)
	config.ScheduledStartTime = &start
	config.Set(detector.SilenceDB, -42.5)
	m, err := service.Registrar.Register(ctx, monitors.Request{StreamURL: "https://www.youtube.com/watch?v=dQw4w9WgXcQ", CallbackURL: "https://example.com/", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	store.Update(m.ID, func(m *monitor.Monitor) { m.Generation = 2 })
	g := workerOf(t, remote.url, m.ID, 2)

	t.Run("an assignment has the registered configuration", func(t *testing.T) {
		a, err := g.Assignment(ctx, m.ID, 2)
		want := monitor.Assignment{ID: m.ID, Generation: 2, StreamURL: m.StreamURL, Config: config}
		if err != nil || !reflect.DeepEqual(a, want) {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("an older generation is superseded", func(t *testing.T) {
		if _, err := workerOf(t, remote.url, m.ID, 1).Assignment(ctx, m.ID, 1); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("error is %v", err)
		}
		r := report(1)
		r.Generation = 1
		if _, err := workerOf(t, remote.url, m.ID, 1).Report(ctx, m.ID, r); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("a report with an invalid field is rejected with the gateway's message", func(t *testing.T) {
		for message, change := range map[string]func(*monitor.Report){
			"status is":   func(r *monitor.Report) { r.Status = "nonsense" },
			"larger than": func(r *monitor.Report) { r.Snapshot = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`) },
		} {
			r := report(1)
			change(&r)
			_, err := g.Report(ctx, m.ID, r)
			var coded *monitor.Error
			if !errors.As(err, &coded) || coded.Code != monitor.InvalidConfig || !strings.Contains(coded.Message, message) {
				t.Errorf("error is %v, expected %q", err, message)
			}
		}
	})
	t.Run("a report arrives with all fields, and its events in order", func(t *testing.T) {
		r := report(450)
		answer, err := g.Report(ctx, m.ID, r)
		if err != nil || answer.Order != monitor.Stop { // the report is of the end
			t.Fatalf("order is %q, %v", answer.Order, err)
		}
		got, err := service.Monitors.Get(ctx, m.ID)
		if err != nil || got.Status != r.Status || got.StreamStatus != r.StreamStatus || !reflect.DeepEqual(got.Health, r.Health) || got.Visibility != *r.Visibility ||
			got.Statistics != r.Statistics || string(got.Snapshot) != string(r.Snapshot) || !got.UpdatedAt.Equal(r.At) {
			t.Errorf("stored is %+v, %v", got, err)
		}
		if stored := store.Reports[0]; !stored.SentAt.Equal(r.SentAt) || !slices.Equal(stored.Signals, r.Signals) {
			t.Errorf("it was sent at %v, with the signals %v", stored.SentAt, stored.Signals)
		}
		records, total, err := service.Events.Events(ctx, m.ID, 200, 0)
		if err != nil || total != 450 {
			t.Fatalf("%d events arrived, %v", total, err)
		}
		for i, record := range records {
			if record.EventID != r.Events[449-i].ID {
				t.Fatalf("event %d from the end is %s", i, record.EventID)
			}
		}
	})
	t.Run("an ended and an unknown monitor have no assignment", func(t *testing.T) {
		for _, id := range []monitor.ID{m.ID, monitorID} {
			_, err := workerOf(t, remote.url, id, 2).Assignment(ctx, id, 2)
			var coded *monitor.Error
			if !errors.As(err, &coded) || coded.Code != monitor.NotFound {
				t.Errorf("error is %v", err)
			}
		}
	})
	t.Run("a wrong key is Unauthorized, not superseded", func(t *testing.T) {
		other, err := gateway.New(remote.url, "wrong", gateway.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		_, err = other.Report(ctx, m.ID, report(0))
		var coded *monitor.Error
		if errors.Is(err, monitor.ErrSuperseded) || !errors.As(err, &coded) || coded.Code != monitor.Unauthorized {
			t.Errorf("error is %v", err)
		}
	})
}
