package references

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of references (section 17.6).
const (
	MaxReferences = 10 // of an owner
	MaxNameLength = 60 // characters
	MaxImageBytes = 512 << 10
)

// NotFound is the code of a refusal beside those of package monitor.
const NotFound monitor.Code = "REFERENCE_NOT_FOUND"

// Owner is what references belong to: a monitor, or a channel, whose monitors have them, too. One field is set.
type Owner struct {
	Monitor monitor.ID
	Channel string // its ID
}

// String names the owner in messages.
func (o Owner) String() string {
	if o.Channel != "" {
		return "channel " + o.Channel
	}
	return "monitor " + string(o.Monitor)
}

// Record is a stored reference without its image. Its JSON is that of the API, which gives CreatedAt in its own zone.
type Record struct {
	ID         string            `json:"reference_id" db:"id"`
	Name       string            `json:"name" db:"name"`
	Unwanted   detector.Unwanted `json:"unwanted" db:"unwanted"`
	Similarity float64           `json:"similarity" db:"similarity"`
	MediaType  string            `json:"media_type" db:"media_type"` // image/jpeg or image/png
	Width      int               `json:"width" db:"width"`           // pixels
	Height     int               `json:"height" db:"height"`         // pixels
	Size       int               `json:"size" db:"size"`             // of the image in bytes
	CreatedAt  time.Time         `json:"created_at" db:"created_at"`
}

// Upload is a reference to store: what it is, and its bytes.
type Upload struct {
	Record

	Digests []detector.Picture
	Image   []byte
}

// Store keeps references. Each method blocks for one exchange with the store and may be called concurrently, by
// several gateways. Each also returns a *monitor.Error with monitor.NotFound for an unknown monitor, and with
// channels.NotFound for an unknown channel.
type Store interface {
	// ListReferences reads the references of an owner in the order of their upload.
	ListReferences(ctx context.Context, o Owner) ([]Record, error)

	// AddReference stores a reference, and makes a new revision of the active monitors that have it. Errors: *monitor.Error
	// NameTaken; monitor.Ended or channels.Stopped for the owner; InvalidConfig when it has MaxReferences.
	AddReference(ctx context.Context, o Owner, u Upload) error

	// RemoveReference deletes a reference, and makes a new revision of the active monitors that had it. Errors:
	// *monitor.Error NotFound; monitor.Ended or channels.Stopped for the owner.
	RemoveReference(ctx context.Context, o Owner, reference string) error

	// ReferenceImage reads the uploaded bytes. Errors: *monitor.Error NotFound.
	ReferenceImage(ctx context.Context, o Owner, reference string) (mediaType string, image []byte, err error)
}

// Service answers callers. It may be used concurrently.
type Service struct {
	store    Store
	newID    func() string
	now      func() time.Time
	decoding wait.Slots
}

// NewService makes a Service. newID makes UUIDv7s.
func NewService(store Store, newID func() string, now func() time.Time) *Service {
	return &Service{store, newID, now, make(wait.Slots, 1)}
}

// List returns the references of an owner in the order of their upload. Errors: those of Store.ListReferences.
func (s *Service) List(ctx context.Context, o Owner) ([]Record, error) {
	return s.store.ListReferences(ctx, o)
}

// Image returns the uploaded bytes of a reference. Errors: those of Store.ReferenceImage.
func (s *Service) Image(ctx context.Context, o Owner, reference string) (mediaType string, image []byte, err error) {
	return s.store.ReferenceImage(ctx, o, reference)
}

// Remove deletes a reference. Errors: those of Store.RemoveReference.
func (s *Service) Remove(ctx context.Context, o Owner, reference string) error {
	return s.store.RemoveReference(ctx, o, reference)
}

// Add stores an image with the Name, Unwanted and Similarity of r, and returns its record. Errors: *monitor.Error
// InvalidConfig, which names everything that is wrong; those of Store.AddReference.
func (s *Service) Add(ctx context.Context, o Owner, r Record, image []byte) (Record, error) {
	refused := []error{monitor.CheckLine("name", r.Name, 1, MaxNameLength)}
	switch r.Unwanted {
	case detector.AfterStart, detector.BeforeStart, detector.Always:
	default:
		refused = append(refused, monitor.FieldErrorf("unwanted", "is %.40q; accepted are %s, %s, %s", r.Unwanted, detector.AfterStart, detector.BeforeStart, detector.Always))
	}
	if !(r.Similarity >= detector.MinSimilarity && r.Similarity <= detector.MaxSimilarity) {
		refused = append(refused, monitor.FieldErrorf("similarity", "is %s; accepted is %s to %s",
			detector.Format(r.Similarity), detector.Format(detector.MinSimilarity), detector.Format(detector.MaxSimilarity)))
	}
	release, err := s.decoding.Take(ctx)
	if err != nil {
		return Record{}, err
	}
	digested, err := Digest(image)
	release()
	if err := monitor.Join(append(refused, err)...); err != nil {
		return Record{}, err
	}
	r.ID, r.CreatedAt, r.Size = s.newID(), s.now(), len(image)
	r.MediaType, r.Width, r.Height = digested.MediaType, digested.Width, digested.Height
	return r, s.store.AddReference(ctx, o, Upload{r, digested.Digests, image})
}
