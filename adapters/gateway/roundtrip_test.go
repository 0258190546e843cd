package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// realGateway is the real internal API, with the services behind it and their stores.
type realGateway struct {
	url      string
	reports  *reportStore
	jars     *cookieJars
	evidence *evidenceStore
}

// cookieJars are an intake.CookieJars of one jar that keeps the newest use.
type cookieJars struct {
	jar  cookie.Jar
	used cookie.Use
}

// Jar implements intake.CookieJars.
func (s *cookieJars) Jar(context.Context, string) (*cookie.Jar, error) { return &s.jar, nil }

// Return implements intake.CookieJars.
func (s *cookieJars) Return(_ context.Context, _ monitor.SourceName, u cookie.Use) (cookie.Jar, error) {
	s.used = u
	return s.jar, nil
}

// reportStore is an intake.ReportStore of one monitor that keeps the newest report.
type reportStore struct {
	monitor    monitor.Monitor
	references []detector.Reference
	report     monitor.Report
}

// Get implements intake.ReportStore.
func (s *reportStore) Get(_ context.Context, id monitor.ID) (monitor.Monitor, error) {
	if id != s.monitor.ID {
		return monitor.Monitor{}, monitor.Errorf(monitor.NotFound, "there is no monitor %s", id)
	}
	return s.monitor, nil
}

// References implements intake.ReportStore.
func (s *reportStore) References(context.Context, monitor.ID) (own, ofChannel []detector.Reference, err error) {
	return s.references, nil, nil
}

// Accept implements intake.ReportStore.
func (s *reportStore) Accept(_ context.Context, _ monitor.ID, r monitor.Report) (monitor.Answer, error) {
	if r.Generation != s.monitor.Generation {
		return monitor.Answer{}, monitor.ErrSuperseded
	}
	s.report, s.monitor.Status = r, r.Status
	return monitor.Answer{Order: monitor.Stop}, nil
}

// evidenceStore is an evidences.Store and an evidences.BlobStore that keeps the newest record.
type evidenceStore struct {
	evidences.Store
	evidences.BlobStore

	record  evidence.Record
	refusal error
}

// ReserveBlob implements evidences.Writer.
func (s *evidenceStore) ReserveBlob(context.Context, monitor.ID, int, evidence.File) error {
	return s.refusal
}

// Put implements evidences.BlobStore.
func (s *evidenceStore) Put(_ context.Context, c *evidences.Content) error { return c.Discard() }

// AddEvidence implements evidences.Writer.
func (s *evidenceStore) AddEvidence(_ context.Context, _ int, r evidence.Record) (evidence.Record, error) {
	s.record = r
	return r, nil
}

func newRealGateway(t *testing.T) *realGateway {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	g := &realGateway{reports: &reportStore{}, jars: &cookieJars{}, evidence: &evidenceStore{}}
	services := must.Get(monitors.NewServices(nil, nil, nil, nil, monitors.Config{NewUUID: func() (u [16]byte) { return u }, Log: log}))(t)
	records := must.Get(evidences.NewService(g.evidence, g.evidence, evidences.Config{
		Keys: evidence.LinkKeys{"the key of links in this test"}, Log: log,
	}))(t)
	api := must.Get(httpapi.New(httpapi.Services{
		Monitors: services, Evidence: records, Routing: &routing.Services{},
		Workers: intake.NewWorkerService(g.reports, g.jars, &monitorstest.WorkerManager{}, nil, nil),
	}, func(context.Context) error { return nil }, httpapi.Config{
		APIKey: "the public key", InternalAPIKey: internalKey, Zone: time.FixedZone("JST", 9*60*60), Log: log,
	}))(t)
	server := httptest.NewServer(api.Internal())
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func TestAssignmentsAndReportsArriveUnchanged(t *testing.T) {
	ctx := context.Background()
	remote := newRealGateway(t)
	config := monitor.DefaultConfig()
	start := time.Date(2024, 1, 15, 20, 0, 0, 0, time.UTC)
	config.ScheduledStartTime = &start
	config.Set(detector.SilenceDB, -42.5)
	m := monitor.Monitor{ID: "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e", Generation: 2, StreamURL: "https://www.youtube.com/watch?v=dQw4w9WgXcQ", Config: config, Status: monitor.Monitoring}
	remote.reports.monitor = m
	remote.reports.references = []detector.Reference{{Name: "待機", Unwanted: detector.Always, Similarity: 0.9, Digests: []detector.Picture{{Luma: []byte{0, 255}, U: []byte{1}, V: []byte{2}}}}}
	config.CookieJar = "会員"
	remote.reports.monitor.Config = config
	remote.jars.jar = cookie.Jar{Name: "会員", Version: 3, Text: "a\tb\n"}
	g := workerOf(t, remote.url, m.ID, 2)

	t.Run("cookies come back as they were left", func(t *testing.T) {
		use := cookie.Use{Jar: cookie.Jar{Name: "会員", Version: 2, Text: "c\td\n"}, Accepted: true}
		newest, err := g.ReturnCookies(ctx, m.ID, 2, use)
		if err != nil || newest != remote.jars.jar || remote.jars.used != use {
			t.Errorf("got %+v, %v; stored is %+v", newest, err, remote.jars.used)
		}
	})
	t.Run("an assignment has the registered configuration", func(t *testing.T) {
		a, err := g.Assignment(ctx, m.ID, 2)
		want := monitor.Assignment{ID: m.ID, Generation: 2, StreamURL: m.StreamURL, Config: config, References: remote.reports.references, Cookies: &remote.jars.jar}
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
		if got := remote.reports.report; !reflect.DeepEqual(got, r) {
			t.Errorf("stored is %+v, want %+v", got, r)
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
		u.File.Width, u.File.Height, u.File.RenditionHeight, u.File.Measure = 640, 360, 720, &luma
		return u
	}
	must.Do(t, g.AddEvidence(t.Context(), upload(), bytes.NewReader(content)))
	want, got := upload(), remote.evidence.record
	if got.ID != want.Record.ID || got.Note != want.Record.Note || got.EventID != want.Record.EventID || got.MonitorID != monitorID || got.Class != evidence.Quarantine ||
		len(got.Files) != 1 || !reflect.DeepEqual(got.Files[0], *want.File) {
		t.Errorf("stored is %+v", got)
	}

	note := upload()
	note.File, note.Record.ID, note.Record.Note = nil, "0195e2a0-0000-7000-8000-000000000003", "all is lost"
	must.Do(t, g.AddEvidence(t.Context(), note, nil))
	if got := remote.evidence.record; got.ID != note.Record.ID || got.Note != "all is lost" || len(got.Files) != 0 {
		t.Errorf("stored is %+v", got)
	}
}

// TestAClipThatTheQuotaRefusesIsNamed: the gateway answers before it has read the clip. A connection that
// looks broken would make the worker send it again for ten minutes.
func TestAClipThatTheQuotaRefusesIsNamed(t *testing.T) {
	remote := newRealGateway(t)
	remote.evidence.refusal = monitor.Errorf(evidence.QuotaExceeded, "too much")
	content := make([]byte, evidence.Clip.MaxBytes())
	err := workerOf(t, remote.url, monitorID, 1).AddEvidence(t.Context(), uploadOf(evidence.Clip, content), bytes.NewReader(content))
	if refusal, coded := errors.AsType[*monitor.Error](err); !coded || refusal.Code != evidence.QuotaExceeded {
		t.Errorf("the error is %v", err)
	}
}
