package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of a page of evidence.
const (
	DefaultPage = 50
	MaxPage     = 200
)

// ErrBusy says that as many uploads or downloads are in progress as one gateway
// allows. The caller may try again.
var ErrBusy = errors.New("too many uploads or downloads of evidence are in progress")

// Store keeps the records of evidence, not the bytes. Its methods may be
// called concurrently, by several gateways.
type Store interface {
	Writer
	Reader
}

// Writer changes records of evidence.
type Writer interface {
	ClassWriter

	// ReserveBlob notes that a blob is about to be stored, so that it is no orphan
	// for an hour. One that is new counts for the quota of the monitor. Errors:
	// *monitor.Error NotFound when there is no such monitor, evidence.QuotaExceeded;
	// monitor.ErrSuperseded when the generation is not its newest; ErrBlobBusy.
	ReserveBlob(ctx context.Context, id monitor.ID, generation int, f evidence.File) error

	// AddEvidence stores a record, or adds the files of r to the stored one; a note
	// that is not empty replaces the stored note. It returns the whole record. Files
	// that are stored already change nothing. Errors: those of ReserveBlob but the quota;
	// *monitor.Error evidence.Conflict when the id belongs to another event, a variant has
	// other bytes already, the event is not one of the monitor, or it has
	// evidence.MaxRecordsPerEvent records.
	AddEvidence(ctx context.Context, generation int, r evidence.Record) (evidence.Record, error)
}

// ClassWriter changes the class of records.
type ClassWriter interface {
	// SetEvidenceClass gives a record another class and returns the record. Errors:
	// *monitor.Error evidence.NotFound.
	SetEvidenceClass(ctx context.Context, id evidence.ID, c evidence.Class) (evidence.Record, error)
}

// Reader reads records of evidence.
type Reader interface {
	// Evidence reads a record. Errors: *monitor.Error evidence.NotFound.
	Evidence(ctx context.Context, id evidence.ID) (evidence.Record, error)

	// ListEvidence reads records, newest first.
	ListEvidence(ctx context.Context, f Filter) ([]evidence.Record, error)

	// AlertOf returns the id of the event of type alert that a recovery ends; "": it is
	// not stored.
	AlertOf(ctx context.Context, recoveryID string, alert event.Type) (eventID string, err error)
}

// ErrBlobBusy says that a blob is being deleted as an orphan. It may be uploaded
// again a moment later.
var ErrBlobBusy = errors.New("the blob is just being deleted")

// Filter selects records. Empty fields select everything.
type Filter struct {
	MonitorID  monitor.ID
	IncidentID string      // a UUID
	EventID    string      // a UUID
	Before     evidence.ID // only records with a lower id, which are older
	Limit      int         // 1 to MaxPage
}

// Config configures a Service.
type Config struct {
	Keys         evidence.LinkKeys  // EVIDENCE_LINK_KEY; required
	PublicURL    string             // PUBLIC_URL, before the links of webhooks; "": they are paths
	Retention    evidence.Retention // 0: evidence.DefaultRetention, evidence.DefaultQuarantineRetention
	MaxUploads   int                // uploads in progress, ≥ 1; 0: 8
	MaxDownloads int                // downloads in progress, ≥ 1; 0: 32
	MaxWait      time.Duration      // how long an upload or download waits for its turn; 0: 5 s
	Now          func() time.Time   // nil: time.Now
	Log          *slog.Logger       // nil: slog.Default
}

// Service takes evidence from workers and shows it to callers. It may be used
// concurrently.
type Service struct {
	Reader
	ClassWriter

	store     Writer
	blobs     BlobStore
	cfg       Config
	uploads   wait.Slots
	downloads wait.Slots
	log       *slog.Logger
}

// NewService makes a Service. Errors: a value of cfg is out of its range.
func NewService(store Store, blobs BlobStore, cfg Config) (*Service, error) {
	if len(cfg.Keys) == 0 {
		return nil, errors.New("evidence: Config.Keys is required")
	}
	cfg.Retention = cfg.Retention.OrDefaults()
	if cfg.MaxWait == 0 {
		cfg.MaxWait = 5 * time.Second
	}
	if d := min(cfg.Retention.Normal, cfg.Retention.Quarantine, cfg.MaxWait); d < 0 {
		return nil, fmt.Errorf("evidence: a duration of Config is %v; accepted is 0 or more", d)
	}
	if cfg.MaxUploads == 0 {
		cfg.MaxUploads = 8
	}
	if cfg.MaxDownloads == 0 {
		cfg.MaxDownloads = 32
	}
	if cfg.MaxUploads < 1 || cfg.MaxDownloads < 1 {
		return nil, fmt.Errorf("evidence: Config has %d uploads and %d downloads; accepted is 1 or more", cfg.MaxUploads, cfg.MaxDownloads)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Service{
		Reader: store, ClassWriter: store, store: store, blobs: blobs, cfg: cfg, log: cfg.Log.With("component", "evidence"),
		uploads: make(wait.Slots, cfg.MaxUploads), downloads: make(wait.Slots, cfg.MaxDownloads),
	}, nil
}

// Add stores a record of evidence, and the file of the upload whose bytes are body. It
// may be repeated: the same file changes nothing. It blocks until the file is in the
// blob store. Errors: *monitor.Error InvalidConfig, NotFound, evidence.Conflict, evidence.QuotaExceeded;
// monitor.ErrSuperseded; ErrBusy; ErrBlobBusy.
func (s *Service) Add(ctx context.Context, u evidence.Upload, body io.Reader) (evidence.Record, error) {
	r := u.Record
	r.Note = evidence.CleanNote(r.Note)
	r.CreatedAt, r.Class, r.Files = s.cfg.Now().UTC().Truncate(time.Millisecond), evidence.ClassOf(0, u.Unclear), nil
	wrong := []error{r.Valid()}
	if u.File != nil {
		wrong = append(wrong, u.File.Valid())
	}
	if err := monitor.Join(wrong...); err != nil {
		return evidence.Record{}, err
	}
	if u.File != nil {
		if err := s.storeFile(ctx, u, body); err != nil {
			return evidence.Record{}, err
		}
		r.Files = []evidence.File{*u.File}
	}
	return s.store.AddEvidence(ctx, u.Generation, r)
}

// storeFile puts the bytes of an upload into the blob store.
func (s *Service) storeFile(ctx context.Context, u evidence.Upload, body io.Reader) error {
	release, err := s.take(ctx, s.uploads)
	if err != nil {
		return err
	}
	defer release()
	if err := s.store.ReserveBlob(ctx, u.Record.MonitorID, u.Generation, *u.File); err != nil {
		return err
	}
	content := NewContent(u.File.Digest, u.File.Size, body)
	err = s.blobs.Put(ctx, content)
	if cause := content.Err(); err != nil && cause != nil {
		return cause // a client library may have replaced it by an error of its own
	}
	if err != nil {
		return fmt.Errorf("store %s of evidence %s: %w", u.File.Variant, u.Record.ID, err)
	}
	return nil
}

// take waits up to MaxWait for a slot of a transfer. Errors: ErrBusy.
func (s *Service) take(ctx context.Context, transfers wait.Slots) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.MaxWait, ErrBusy)
	defer cancel()
	return transfers.Take(ctx)
}

// List reads records, newest first. Errors: *monitor.Error InvalidConfig.
func (s *Service) List(ctx context.Context, f Filter) ([]evidence.Record, error) {
	if err := monitor.ValidLimit(f.Limit, MaxPage); err != nil {
		return nil, err
	}
	return s.ListEvidence(ctx, f)
}

// ExpiresAt returns when a record is deleted; the zero time: never.
func (s *Service) ExpiresAt(r evidence.Record) time.Time { return s.cfg.Retention.ExpiresAt(r) }

// Link signs a link to one file. ttl is evidence.MinLinkTTL to evidence.MaxLinkTTL.
// Errors: *monitor.Error InvalidConfig, evidence.NotFound.
func (s *Service) Link(ctx context.Context, id evidence.ID, v evidence.Variant, ttl time.Duration) (evidence.Link, error) {
	if ttl < evidence.MinLinkTTL || ttl > evidence.MaxLinkTTL {
		return evidence.Link{}, monitor.Errorf(monitor.InvalidConfig, "ttl_sec is %g; accepted is %g to %g",
			ttl.Seconds(), evidence.MinLinkTTL.Seconds(), evidence.MaxLinkTTL.Seconds())
	}
	r, err := s.Evidence(ctx, id)
	if err != nil {
		return evidence.Link{}, err
	}
	if _, has := r.File(v); !has {
		return evidence.Link{}, noFile(id, v)
	}
	return s.cfg.Keys.Sign(id, v, s.cfg.Now().Add(ttl))
}

func noFile(id evidence.ID, v evidence.Variant) error {
	return monitor.Errorf(evidence.NotFound, "evidence %s has no file %s", id, v)
}

// Download is one file that is being read.
type Download struct {
	io.ReadSeekCloser

	File evidence.File
	TTL  time.Duration // until the link expires
}

// Open checks a link and opens its file. A link that is not valid is refused before
// anything is read. The caller closes the Download. Errors: *monitor.Error
// evidence.LinkInvalid, LinkExpired, NotFound; ErrBusy.
func (s *Service) Open(ctx context.Context, l evidence.Link) (*Download, error) {
	now := s.cfg.Now()
	if err := s.cfg.Keys.Check(l, now); err != nil {
		return nil, err
	}
	release, err := s.take(ctx, s.downloads)
	if err != nil {
		return nil, err
	}
	d, err := s.open(ctx, l)
	if err != nil {
		release()
		return nil, err
	}
	d.TTL = l.ExpiresAt.Sub(now)
	d.ReadSeekCloser = &releasing{d.ReadSeekCloser, release}
	return d, nil
}

func (s *Service) open(ctx context.Context, l evidence.Link) (*Download, error) {
	r, err := s.Evidence(ctx, l.EvidenceID)
	if err != nil {
		return nil, err
	}
	f, has := r.File(l.Variant)
	if !has {
		return nil, noFile(l.EvidenceID, l.Variant)
	}
	first, err := s.blobs.Open(ctx, f.Digest, 0) // before a status is sent: it may be missing
	if errors.Is(err, ErrNoBlob) {
		s.log.Warn("a file of evidence is not in the blob store, its link answers 404: if EVIDENCE_STORE was changed, copy the old store's blobs to the new one",
			"monitor_id", string(r.MonitorID), "evidence_id", string(r.ID), "variant", string(f.Variant), "sha256", f.Digest.String())
		return nil, noFile(l.EvidenceID, l.Variant)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s of evidence %s: %w", f.Variant, r.ID, err)
	}
	return &Download{File: f, ReadSeekCloser: &blobReader{ctx: ctx, blobs: s.blobs, digest: f.Digest, size: f.Size, open: first}}, nil
}

// releasing releases the slot of a download when it is closed, once.
type releasing struct {
	io.ReadSeekCloser

	release func()
}

// Close implements io.Closer.
func (r *releasing) Close() error {
	err := r.ReadSeekCloser.Close()
	if r.release != nil {
		r.release()
		r.release = nil
	}
	return err
}
