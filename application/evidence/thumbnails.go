package evidence

import (
	"context"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of thumbnails (section 17.2).
const (
	ThumbnailLease        = 30 * time.Second // a page that shows a monitor asks again within it
	MaxThumbnailMonitors  = 200              // in one request of a page
	MaxThumbnailBytes     = 32 << 10
	MaxThumbnailWidth     = 256
	MaxThumbnailHeight    = 144
	SweepThumbnailsEvery  = time.Minute
	thumbnailKept         = 10 * time.Minute
	maxThumbnailClockSkew = 10 * time.Second
)

// Thumbnail is a small JPEG of what a worker has just analysed.
type Thumbnail struct {
	MonitorID monitor.ID
	TakenAt   time.Time
	JPEG      []byte
}

// ThumbnailStore keeps the newest thumbnail of each monitor, and the leases of the pages
// that show them. Each method blocks for one exchange with the store and may be called
// concurrently, by several gateways.
type ThumbnailStore interface {
	ThumbnailReader

	// LeaseThumbnails makes the gateways ask the workers of active monitors for
	// thumbnails from now on, for a duration. It ignores other ids.
	LeaseThumbnails(ctx context.Context, ids []monitor.ID, d time.Duration) error

	// PutThumbnail stores a thumbnail and announces it to all gateways, unless there is a
	// newer one or no lease. wanted reports whether a lease lives. Errors: *monitor.Error
	// NotFound when the monitor is not active; monitor.ErrSuperseded when the generation
	// is not the newest.
	PutThumbnail(ctx context.Context, t Thumbnail, generation int) (wanted bool, err error)

	// DeleteThumbnails deletes what was stored longer ago than age, and expired leases.
	DeleteThumbnails(ctx context.Context, age time.Duration) error
}

// ThumbnailReader reads thumbnails.
type ThumbnailReader interface {
	// GetThumbnail reads the newest thumbnail of a monitor. Errors: *monitor.Error NotFound.
	GetThumbnail(ctx context.Context, id monitor.ID) (Thumbnail, error)
}

// Thumbnails passes on thumbnails from workers to the pages that show them. Its methods may
// be called concurrently.
type Thumbnails struct {
	ThumbnailReader

	store ThumbnailStore
	now   func() time.Time
}

// NewThumbnails makes Thumbnails. now is the clock of this process.
func NewThumbnails(store ThumbnailStore, now func() time.Time) *Thumbnails {
	return &Thumbnails{store, store, now}
}

// Watch asks for thumbnails of monitors during ThumbnailLease. Errors: *monitor.Error
// InvalidConfig.
func (s *Thumbnails) Watch(ctx context.Context, ids []monitor.ID) error {
	if len(ids) < 1 || len(ids) > MaxThumbnailMonitors {
		return monitor.Errorf(monitor.InvalidConfig, "monitor_ids has %d entries; accepted are 1 to %d", len(ids), MaxThumbnailMonitors)
	}
	for n, id := range ids {
		if _, err := monitor.ParseID(string(id)); err != nil {
			return monitor.Errorf(monitor.InvalidConfig, "monitor_ids[%d] is %.60q; accepted is mon- and 32 hexadecimal digits", n, id)
		}
	}
	ids = slices.Clone(ids)
	slices.Sort(ids) // so that two requests lock rows in the same order
	return s.store.LeaseThumbnails(ctx, slices.Compact(ids), ThumbnailLease)
}

// AddThumbnail takes in the thumbnail of a worker. The caller has checked that it is a JPEG within
// the limits. Errors: those of ThumbnailStore.PutThumbnail; *monitor.Error InvalidConfig.
func (s *Thumbnails) AddThumbnail(ctx context.Context, id monitor.ID, generation int, takenAt time.Time, jpeg []byte) (wanted bool, err error) {
	if err := monitor.ValidTime("taken_at", takenAt); err != nil {
		return false, err
	}
	if now := s.now(); takenAt.Sub(now) > maxThumbnailClockSkew {
		takenAt = now // a worker whose clock is ahead must not block newer thumbnails
	}
	return s.store.PutThumbnail(ctx, Thumbnail{MonitorID: id, TakenAt: takenAt, JPEG: jpeg}, generation)
}

// Sweep deletes thumbnails that nobody looks at any more. The elected gateway runs it every
// SweepThumbnailsEvery.
func (s *Thumbnails) Sweep(ctx context.Context) error {
	return s.store.DeleteThumbnails(ctx, thumbnailKept)
}
