package monitor

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// HintKind says what a Hint is about. It is stored and shown, so it never changes.
type HintKind string

// The kinds of hints.
const (
	Quieter    HintKind = "quieter"     // the sound falls minute by minute
	Recurring  HintKind = "recurring"   // a condition has come back again and again
	LateStarts HintKind = "late_starts" // the channel's last streams began late
)

// HintKinds lists every kind.
func HintKinds() []HintKind { return []HintKind{Quieter, Recurring, LateStarts} }

// Hint says what the recorded history suggests about a stream (section 16.7). It is no alert: nothing is
// wrong because of it. Package domain/hint finds it.
type Hint struct {
	Kind      HintKind           `json:"kind"`
	Condition trouble.Name       `json:"condition,omitempty"` // that comes back; empty unless Kind is Recurring
	Since     time.Time          `json:"since"`
	Numbers   map[string]float64 `json:"numbers"` // that made it, by the names of section 16.7
}

// Same reports whether two hints of one monitor differ at most in their numbers and in Since.
func (h Hint) Same(o Hint) bool { return h.Kind == o.Kind && h.Condition == o.Condition }
