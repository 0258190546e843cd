package evidencetest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is an evidences.Store in memory. Every monitor exists, with
// generation 1, except those in Unknown. It may be used concurrently.
type Store struct {
	Unknown map[monitor.ID]bool

	// Fail, if set, is called first by every method; its error is the method's. op is
	// the method's name.
	Fail func(ctx context.Context, op string) error

	Alerts map[string]string // event ids of alerts, by those of their recoveries

	mu      sync.Mutex
	records map[evidence.ID]evidence.Record
}

var _ evidences.Store = (*Store)(nil)

func (s *Store) begin(ctx context.Context, op string) (end func(), err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	if s.records == nil {
		s.records = map[evidence.ID]evidence.Record{}
	}
	return s.mu.Unlock, nil
}

func (s *Store) check(id monitor.ID, generation int) error {
	switch {
	case s.Unknown[id]:
		return monitor.Errorf(monitor.NotFound, "there is no monitor %s", id)
	case generation != 1:
		return monitor.ErrSuperseded
	}
	return nil
}

// ReserveBlob implements evidences.Writer.
func (s *Store) ReserveBlob(ctx context.Context, id monitor.ID, generation int, _ evidence.File) error {
	end, err := s.begin(ctx, "ReserveBlob")
	if err != nil {
		return err
	}
	defer end()
	return s.check(id, generation)
}

// AddEvidence implements evidences.Writer.
func (s *Store) AddEvidence(ctx context.Context, generation int, r evidence.Record) (evidence.Record, error) {
	end, err := s.begin(ctx, "AddEvidence")
	if err != nil {
		return evidence.Record{}, err
	}
	defer end()
	if err := s.check(r.MonitorID, generation); err != nil {
		return evidence.Record{}, err
	}
	stored, exists := s.records[r.ID]
	if !exists {
		s.records[r.ID] = r
		return r, nil
	}
	if stored.MonitorID != r.MonitorID || stored.EventID != r.EventID {
		return evidence.Record{}, monitor.Errorf(evidence.Conflict, "evidence %s belongs to another event", r.ID)
	}
	for _, f := range r.Files {
		old, has := stored.File(f.Variant)
		if has && old.Digest != f.Digest {
			return evidence.Record{}, monitor.Errorf(evidence.Conflict, "evidence %s has another %s already", r.ID, f.Variant)
		}
		if !has {
			stored.Files = append(slices.Clone(stored.Files), f)
		}
	}
	if r.Note != "" {
		stored.Note = r.Note
	}
	s.records[r.ID] = stored
	return stored, nil
}

// SetEvidenceClass implements evidences.Writer.
func (s *Store) SetEvidenceClass(ctx context.Context, id evidence.ID, c evidence.Class) (evidence.Record, error) {
	end, err := s.begin(ctx, "SetEvidenceClass")
	if err != nil {
		return evidence.Record{}, err
	}
	defer end()
	r, err := s.find(id)
	if err == nil {
		r.Class = c
		s.records[id] = r
	}
	return r, err
}

func (s *Store) find(id evidence.ID) (evidence.Record, error) {
	r, exists := s.records[id]
	if !exists {
		return r, monitor.Errorf(evidence.NotFound, "there is no evidence %s, or it has expired", id)
	}
	return r, nil
}

// Evidence implements evidences.Reader.
func (s *Store) Evidence(ctx context.Context, id evidence.ID) (evidence.Record, error) {
	end, err := s.begin(ctx, "Evidence")
	if err != nil {
		return evidence.Record{}, err
	}
	defer end()
	return s.find(id)
}

// ListEvidence implements evidences.Reader.
func (s *Store) ListEvidence(ctx context.Context, f evidences.Filter) ([]evidence.Record, error) {
	end, err := s.begin(ctx, "ListEvidence")
	if err != nil {
		return nil, err
	}
	defer end()
	var found []evidence.Record
	for _, r := range s.records {
		if (f.MonitorID == "" || r.MonitorID == f.MonitorID) && (f.IncidentID == "" || r.IncidentID == f.IncidentID) &&
			(f.EventID == "" || r.EventID == f.EventID) && (f.Before == "" || r.ID < f.Before) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b evidence.Record) int { return strings.Compare(string(b.ID), string(a.ID)) })
	return found[:min(len(found), f.Limit)], nil
}

// AlertOf implements evidences.Reader.
func (s *Store) AlertOf(ctx context.Context, recoveryID string, _ event.Type) (string, error) {
	end, err := s.begin(ctx, "AlertOf")
	if err != nil {
		return "", err
	}
	defer end()
	return s.Alerts[recoveryID], nil
}

// BlobStore is an evidences.BlobStore and evidences.BlobCleaner in memory. It may be used
// concurrently.
type BlobStore struct {
	// Fail, if set, is called first by every method; its error is the method's. It may
	// block.
	Fail func(ctx context.Context, op string) error

	mu    sync.Mutex
	blobs map[evidence.Digest][]byte
	opens int
}

var (
	_ evidences.BlobStore   = (*BlobStore)(nil)
	_ evidences.BlobCleaner = (*BlobStore)(nil)
)

func (s *BlobStore) fail(ctx context.Context, op string) error {
	if s.Fail == nil {
		return nil
	}
	return s.Fail(ctx, op)
}

// Put implements evidences.BlobStore.
func (s *BlobStore) Put(ctx context.Context, c *evidences.Content) error {
	if err := s.fail(ctx, "Put"); err != nil {
		return err
	}
	data, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs == nil {
		s.blobs = map[evidence.Digest][]byte{}
	}
	s.blobs[c.Digest] = data
	return nil
}

// Open implements evidences.BlobStore.
func (s *BlobStore) Open(ctx context.Context, d evidence.Digest, offset int64) (io.ReadCloser, error) {
	if err := s.fail(ctx, "Open"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	data, exists := s.blobs[d]
	if !exists {
		return nil, evidences.ErrNoBlob
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

// Opens returns how often a blob was opened.
func (s *BlobStore) Opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens
}

// Count returns how many blobs are stored.
func (s *BlobStore) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blobs)
}

// Delete implements evidences.BlobCleaner.
func (s *BlobStore) Delete(ctx context.Context, d evidence.Digest) error {
	if err := s.fail(ctx, "Delete"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.blobs, d)
	return nil
}

// List implements evidences.BlobCleaner.
func (s *BlobStore) List(ctx context.Context, after evidence.Digest, limit int) ([]evidence.Digest, error) {
	if err := s.fail(ctx, "List"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []evidence.Digest
	for d := range s.blobs {
		if bytes.Compare(d[:], after[:]) > 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b evidence.Digest) int { return bytes.Compare(a[:], b[:]) })
	return found[:min(len(found), limit)], nil
}

// DeletePartial implements evidences.BlobCleaner: an upload that fails leaves nothing
// here.
func (s *BlobStore) DeletePartial(ctx context.Context, _ time.Duration) (int, error) {
	return 0, s.fail(ctx, "DeletePartial")
}
