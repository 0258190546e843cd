package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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

func TestRefusedEvidenceIsNamed(t *testing.T) {
	base := newRealGateway(t).url
	content := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		change func(*evidence.Upload)
		is     func(error) bool
	}{
		"an older generation": {func(u *evidence.Upload) { u.Generation = 2 }, func(err error) bool { return errors.Is(err, monitor.ErrSuperseded) }},
		"another digest":      {func(u *evidence.Upload) { u.File.Digest = evidence.Digest{1} }, hasCode(monitor.InvalidConfig)},
		"another event":       {func(u *evidence.Upload) { u.Record.EventID = "0195e2a0-0000-7000-8000-00000000000f" }, hasCode(evidence.Conflict)},
	} {
		t.Run(name, func(t *testing.T) {
			u := uploadOf(evidence.Clip, []byte(content))
			if err := workerOf(t, base, monitorID, u.Generation).AddEvidence(t.Context(), u, strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			c.change(&u)
			if err := workerOf(t, base, monitorID, u.Generation).AddEvidence(t.Context(), u, strings.NewReader(content)); !c.is(err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestAClipThatTheQuotaRefusesIsNamed: the gateway answers before it has read the clip. A connection that
// looks broken would make the worker send it again for ten minutes.
func TestAClipThatTheQuotaRefusesIsNamed(t *testing.T) {
	remote := newRealGateway(t)
	remote.evidenceStore.Fail = func(context.Context, string) error { return monitor.Errorf(evidence.QuotaExceeded, "too much") }
	content := make([]byte, evidence.Clip.MaxBytes())
	err := workerOf(t, remote.url, monitorID, 1).AddEvidence(t.Context(), uploadOf(evidence.Clip, content), bytes.NewReader(content))
	if !hasCode(evidence.QuotaExceeded)(err) {
		t.Errorf("the error is %v", err)
	}
}

// hasCode returns whether an error has a code of the gateway.
func hasCode(code monitor.Code) func(error) bool {
	return func(err error) bool {
		var answer *monitor.Error
		return errors.As(err, &answer) && answer.Code == code
	}
}
