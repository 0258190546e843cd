package hls

import (
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// defect is the first entry of a playlist that was left out or repaired. One without a line is
// noted after all that have one. A playlist without any usable entry is refused because of it.
type defect struct {
	line    int // 0: not known
	problem string
}

func (d *defect) note(line int, format string, args ...any) {
	if d.problem == "" || 0 < line && line < d.line {
		*d = defect{line, fmt.Sprintf(format, args...)}
	}
}

// failure returns the Failure of a playlist without any usable entry. otherwise is its reason
// if no entry has a defect.
func (d *defect) failure(otherwise string) *watch.Failure {
	switch {
	case d.problem == "":
		return malformed("%s", otherwise)
	case d.line == 0:
		return malformed("%s", d.problem)
	}
	return malformed("line %d: %s", d.line, d.problem)
}
