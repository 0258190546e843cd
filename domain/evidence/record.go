package evidence

import (
	"encoding/hex"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Codes of refused requests.
const (
	NotFound monitor.Code = "EVIDENCE_NOT_FOUND" // no evidence has the id or the variant
	Conflict monitor.Code = "EVIDENCE_CONFLICT"  // evidence that is stored does not change
)

// MaxNote is the maximum length of a note, in bytes.
const MaxNote = 1024

// ID identifies a Record: a UUIDv7 in lower case. Its maker, the worker,
// sends it with every upload, so a repeated upload changes nothing.
type ID string

// ParseID accepts a UUID. Anything else is NotFound, because no record can have it.
func ParseID(s string) (ID, error) {
	if !monitor.IsUUID(s) {
		return "", monitor.Errorf(NotFound, "no evidence has the id %.60q: an id is a UUID", s)
	}
	return ID(strings.ToLower(s)), nil
}

// Phase says which event of a condition a Record belongs to.
type Phase string

// The phases.
const (
	AlertPhase    Phase = "alert"    // the condition was alerted
	RecoveryPhase Phase = "recovery" // the condition has ended
)

// Record is the evidence of one event.
type Record struct {
	ID         ID
	MonitorID  monitor.ID
	EventID    string // of the alert or recovery event; a UUID
	IncidentID string // of the incident that the event belongs to; "": none is known
	Condition  trouble.Name
	Phase      Phase
	Class      Class
	Note       string // why a file is missing, as CleanNote makes it; "": nothing is known to be missing
	CreatedAt  time.Time
	Files      []File // in the order of Variants
}

// File describes one file of a Record.
type File struct {
	Variant Variant
	Digest  Digest
	Size    int64     // bytes
	Width   int       // pixels; 0: unknown, or no picture
	Height  int       // pixels, likewise
	TakenAt time.Time // the time of the picture, or of the clip's first picture
	Measure *float64  // mean luma (0–255) of a picture, level (dBFS) of a sound; nil: not measured

	RenditionHeight int // lines of the rendition that it was taken from, before it was made smaller; 0: unknown, or no picture
}

// Upload describes one file of a record that a worker sends, or only the record.
type Upload struct {
	Generation int    // of the worker, ≥ 1
	Unclear    bool   // the evidence does not show the condition clearly, so it is quarantined
	Record     Record // without Class, IncidentID, CreatedAt and Files
	File       *File  // nil: only the record, to leave a note
}

// Digest is the SHA-256 of a file's bytes.
type Digest [32]byte

// ParseDigest reads 64 hexadecimal digits.
func ParseDigest(s string) (d Digest, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(d) {
		return d, monitor.Errorf(monitor.InvalidConfig, "sha256 is %.80q; accepted are 64 hexadecimal digits", s)
	}
	return Digest(raw), nil
}

// String returns 64 hexadecimal digits in lower case.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// File returns the file of a variant.
func (r Record) File(v Variant) (File, bool) {
	for _, f := range r.Files {
		if f.Variant == v {
			return f, true
		}
	}
	return File{}, false
}

var conditionForm = regexp.MustCompile(`^[a-z][a-z_]{0,31}$`)

// Valid checks the fields that a worker sends. Errors: *monitor.Error InvalidConfig,
// which names every wrong field.
func (r Record) Valid() error {
	var wrong []error
	refuse := func(format string, args ...any) {
		wrong = append(wrong, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	if !monitor.IsUUID(r.EventID) {
		refuse("event_id is %.60q; accepted is a UUID", r.EventID)
	}
	if !conditionForm.MatchString(string(r.Condition)) {
		refuse("condition is %.60q; accepted are 1 to 32 small letters and underscores", r.Condition)
	}
	if r.Phase != AlertPhase && r.Phase != RecoveryPhase {
		refuse("phase is %.60q; accepted are %s and %s", r.Phase, AlertPhase, RecoveryPhase)
	}
	return monitor.Join(wrong...)
}

// CleanNote makes one line of at most MaxNote bytes of text that a tool or a server
// wrote. A note is never refused: it is all that is left of a capture that failed.
func CleanNote(text string) string {
	line := monitor.CleanLine(text)
	return strings.ToValidUTF8(line[:min(len(line), MaxNote)], "")
}

// Limits of a file's description.
const (
	maxPixels  = 4096
	maxLines   = math.MaxInt32
	maxMeasure = 1000
)

// Valid checks a file against the limits of its variant. Errors: *monitor.Error
// InvalidConfig, which names every wrong field.
func (f File) Valid() error {
	var wrong []error
	refuse := func(format string, args ...any) {
		wrong = append(wrong, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	if f.Size < 1 || f.Size > f.Variant.MaxBytes() {
		refuse("size is %d; accepted for %s are 1 to %d bytes", f.Size, f.Variant, f.Variant.MaxBytes())
	}
	if f.Width < 0 || f.Width > maxPixels || f.Height < 0 || f.Height > maxPixels {
		refuse("width and height are %d and %d; accepted are 0 to %d", f.Width, f.Height, maxPixels)
	}
	if f.RenditionHeight < 0 || f.RenditionHeight > maxLines {
		refuse("rendition_height is %d; accepted are 0 to %d", f.RenditionHeight, maxLines)
	}
	if year := f.TakenAt.Year(); year < 2000 || year > 9998 {
		refuse("taken_at is in the year %d; accepted are 2000 to 9998", year)
	}
	if f.Measure != nil && !(math.Abs(*f.Measure) <= maxMeasure) {
		refuse("measure is %v; accepted is a number from -%d to %d", *f.Measure, maxMeasure, maxMeasure)
	}
	return monitor.Join(wrong...)
}
