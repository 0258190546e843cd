package collector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// defects are what is wrong with a record.
type defects struct {
	notes    []string // why something is missing
	uploaded bool     // the gateway has all notes
	unclear  bool     // the evidence does not show the condition clearly
}

// note keeps why something is missing, once.
func (d *defects) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
		d.uploaded = false
	}
}

// text returns the notes within the limit of a record.
func (d *defects) text() string { return evidence.CleanNote(strings.Join(d.notes, "; ")) }

// pending reports whether the gateway lacks a note.
func (d *defects) pending() bool { return len(d.notes) > 0 && !d.uploaded }
