package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

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
	t.Run("a report arrives with all fields, and its events in order", func(t *testing.T) {
		r := report(450)
		answer, err := g.Report(ctx, m.ID, r)
		if err != nil || answer.Order != monitor.Stop { // the report is of the end
			t.Fatalf("order is %q, %v", answer.Order, err)
		}
		got, err := service.Monitors.Get(ctx, m.ID)
		if err != nil || got.Status != r.Status || got.StreamStatus != r.StreamStatus || got.Health != r.Health || got.Visibility != *r.Visibility ||
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
}

// uploadOf returns an upload of a file by the first generation.
func uploadOf(variant evidence.Variant, content []byte) evidence.Upload {
	return evidence.Upload{
		Generation: 1,
		Record: evidence.Record{
			ID: "0195e2a0-0000-7000-8000-000000000001", MonitorID: monitorID, EventID: "0195e2a0-0000-7000-8000-000000000002",
			Condition: "black", Phase: evidence.AlertPhase,
		},
		File: &evidence.File{Variant: variant, Digest: sha256.Sum256(content), Size: int64(len(content)), TakenAt: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)},
	}
}

func TestEvidenceArrivesUnchanged(t *testing.T) {
	remote := newRealGateway(t)
	g := workerOf(t, remote.url, monitorID, 1)
	content, luma := []byte("a picture"), 12.5
	upload := func() evidence.Upload {
		u := uploadOf(evidence.Onset, content)
		u.Unclear, u.Record.Note = true, "clip: 100% lost & gone"
		u.File.Width, u.File.Height, u.File.Measure = 640, 360, &luma
		return u
	}
	for range 2 { // the second changes nothing
		if err := g.AddEvidence(t.Context(), upload(), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	want := upload()
	got, err := remote.evidence.Evidence(t.Context(), want.Record.ID)
	if err != nil || got.Note != want.Record.Note || got.EventID != want.Record.EventID || got.MonitorID != monitorID || got.Class != evidence.Quarantine ||
		len(got.Files) != 1 || !reflect.DeepEqual(got.Files[0], *want.File) {
		t.Errorf("stored is %+v, %v", got, err)
	}

	note := upload()
	note.File, note.Record.ID, note.Record.Note = nil, "0195e2a0-0000-7000-8000-000000000003", "all is lost"
	if err := g.AddEvidence(t.Context(), note, nil); err != nil {
		t.Error(err)
	}
	if got, err := remote.evidence.Evidence(t.Context(), note.Record.ID); err != nil || got.Note != "all is lost" || len(got.Files) != 0 {
		t.Errorf("stored is %+v, %v", got, err)
	}
}

// TestAClipThatTheQuotaRefusesIsNamed: the gateway answers before it has read the clip. A connection that
// looks broken would make the worker send it again for ten minutes.
func TestAClipThatTheQuotaRefusesIsNamed(t *testing.T) {
	remote := newRealGateway(t)
	remote.evidenceStore.Fail = func(context.Context, string) error { return monitor.Errorf(evidence.QuotaExceeded, "too much") }
	content := make([]byte, evidence.Clip.MaxBytes())
	err := workerOf(t, remote.url, monitorID, 1).AddEvidence(t.Context(), uploadOf(evidence.Clip, content), bytes.NewReader(content))
	if refusal, coded := errors.AsType[*monitor.Error](err); !coded || refusal.Code != evidence.QuotaExceeded {
		t.Errorf("the error is %v", err)
	}
}
