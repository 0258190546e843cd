package evidence_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// recordStore is an evidences.Store that can be read.
type recordStore struct {
	evidences.Store

	records []evidence.Record // the newest first
	alerts  map[string]string // of recoveries
	failing string            // the method that fails
}

func (s *recordStore) fail(method string) error {
	if method == s.failing {
		return errors.New("the database is gone")
	}
	return nil
}

func (s *recordStore) Evidence(_ context.Context, id evidence.ID) (evidence.Record, error) {
	for _, r := range s.records {
		if r.ID == id {
			return r, nil
		}
	}
	return evidence.Record{}, monitor.Errorf(evidence.NotFound, "there is no evidence %s", id)
}

func (s *recordStore) ListEvidence(_ context.Context, f evidences.Filter) (found []evidence.Record, err error) {
	for _, r := range s.records {
		if r.MonitorID == f.MonitorID && r.EventID == f.EventID {
			found = append(found, r)
		}
	}
	return found, s.fail("ListEvidence")
}

func (s *recordStore) AlertOf(_ context.Context, recoveryID string, _ event.Type) (string, error) {
	return s.alerts[recoveryID], s.fail("AlertOf")
}

func TestAWebhookShowsTheNewestRecordThatHasAFile(t *testing.T) { // section 16.2
	const (
		mon      = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
		alert    = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c01"
		recovery = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c02"
		first    = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c11")
		empty    = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c12")
	)
	const outageOver = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c13")
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	store := &recordStore{alerts: map[string]string{recovery: alert}}
	keys := evidence.LinkKeys{"a key of sixteen"}
	service, err := evidences.NewService(store, nil, evidences.Config{
		Keys: keys, PublicURL: "https://monitor.example.com/", Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := service.FindEvidence(t.Context(), mon, alert, event.Blackout); got != nil || err != nil {
		t.Errorf("before anything is stored: %+v, %v", got, err)
	}
	onset := evidence.File{Variant: evidence.Onset, Size: 1, TakenAt: now}
	store.records = []evidence.Record{
		// A recovery from an outage has no event of its own.
		{ID: outageOver, MonitorID: mon, EventID: alert, Condition: "no_media", Phase: evidence.RecoveryPhase, Files: []evidence.File{onset}},
		{ID: empty, MonitorID: mon, EventID: alert, Condition: "black", Phase: evidence.AlertPhase, Note: "no media"},
		{ID: first, MonitorID: mon, EventID: alert, Condition: "black", Phase: evidence.AlertPhase, Files: []evidence.File{onset}},
	}
	for id, typ := range map[string]event.Type{alert: event.Blackout, recovery: event.BlackoutRecovered} {
		got, err := service.FindEvidence(t.Context(), mon, id, typ)
		if err != nil || got == nil {
			t.Fatalf("%s: %+v, %v", typ, got, err)
		}
		link := got.Links["onset"]
		if got.EvidenceID != string(first) || got.EventID != alert || len(got.Links) != 1 || !got.ExpiresAt.Equal(now.Add(15*time.Minute)) ||
			!strings.HasPrefix(link, "https://monitor.example.com/evidence/"+string(first)+"/onset?") {
			t.Errorf("%s: %+v", typ, got)
		}
	}
	for _, store.failing = range []string{"AlertOf", "ListEvidence"} {
		if _, err := service.FindEvidence(t.Context(), mon, recovery, event.BlackoutRecovered); err == nil || !strings.Contains(err.Error(), recovery) {
			t.Errorf("%s fails: the error is %v, which does not name the event", store.failing, err)
		}
	}
	store.failing = ""
	delete(store.alerts, recovery)
	if got, err := service.FindEvidence(t.Context(), mon, recovery, event.BlackoutRecovered); got != nil || err != nil {
		t.Errorf("a recovery whose alert is not stored: %+v, %v", got, err)
	}
}

// oneBlob is an evidences.BlobStore of one blob.
type oneBlob struct {
	evidences.BlobStore

	content []byte
}

func (b oneBlob) Open(_ context.Context, d evidence.Digest, _ int64) (io.ReadCloser, error) {
	if d != sha256.Sum256(b.content) {
		return nil, evidences.ErrNoBlob
	}
	return io.NopCloser(bytes.NewReader(b.content)), nil
}

func TestAMessageShowsThePictureOfItsIncident(t *testing.T) { // section 19.3
	const id = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c11")
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	jpeg := []byte("bytes of a picture")
	digest := evidence.Digest(sha256.Sum256(jpeg))
	file := evidence.File{Variant: evidence.Onset, Digest: digest, Size: int64(len(jpeg)), TakenAt: now}
	store := &recordStore{records: []evidence.Record{{ID: id, Condition: "black", Phase: evidence.AlertPhase, Files: []evidence.File{file}}}}
	onset := incident.Picture{EvidenceID: string(id), Variant: "onset"}
	for name, c := range map[string]struct {
		publicURL string
		picture   incident.Picture
		most      int64
		bytes     []byte
		url       string
		code      monitor.Code
	}{
		"with its bytes":           {"https://monitor.example/", onset, 100, jpeg, "https://monitor.example/evidence/" + string(id) + "/onset?", ""},
		"with a link only":         {"https://monitor.example/", onset, 17, nil, "https://monitor.example/evidence/", ""},
		"without a public URL":     {"", onset, 18, jpeg, "", ""},
		"with another file":        {"", incident.Picture{EvidenceID: string(id), Variant: "level"}, 100, nil, "", evidence.NotFound},
		"whose record was deleted": {"", incident.Picture{EvidenceID: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c12", Variant: "onset"}, 100, nil, "", evidence.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			service, err := evidences.NewService(store, oneBlob{content: jpeg}, evidences.Config{
				Keys: evidence.LinkKeys{"a key of sixteen"}, PublicURL: c.publicURL, Now: func() time.Time { return now },
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := service.MessagePicture(t.Context(), c.picture, c.most)
			var refused *monitor.Error
			if c.code != "" {
				if !errors.As(err, &refused) || refused.Code != c.code {
					t.Errorf("the error is %v, want %s", err, c.code)
				}
				return
			}
			if err != nil || !bytes.Equal(got.Bytes, c.bytes) || got.MediaType != "image/jpeg" || !strings.HasPrefix(got.URL, c.url) || (got.URL == "") != (c.url == "") {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
