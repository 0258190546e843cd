package worker

import (
	"log/slog"
	"sync"
	"time"
)

// maxCheckDelay is the largest delay of a check that counts as on time.
const maxCheckDelay = time.Second

// checkDelayInterval is the shortest time between two warnings about late checks.
const checkDelayInterval = time.Minute

// CheckDelays counts the checks of all workers of a process, and those that began late. It
// logs a warning about late ones, at most once a minute. It is safe for concurrent use.
type CheckDelays struct {
	log *slog.Logger

	mu           sync.Mutex
	checks, late int
	largest      time.Duration
	warnAt       time.Time // the earliest time of the next warning
}

// NewCheckDelays makes a counter that warns in log.
func NewCheckDelays(log *slog.Logger) *CheckDelays {
	return &CheckDelays{log: log.With("component", "worker")}
}

// record counts a check that began so long after it was due.
func (d *CheckDelays) record(delay time.Duration) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.checks++
	d.largest = max(d.largest, delay)
	if delay > maxCheckDelay {
		d.late++
	}
	if now := time.Now(); d.late > 0 && !now.Before(d.warnAt) {
		d.warnAt = now.Add(checkDelayInterval)
		d.warn()
	}
}

// Close logs the late checks since the last warning. Call it when the workers have ended.
func (d *CheckDelays) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late > 0 {
		d.warn()
	}
}

// warn logs what was counted since the last warning. d.mu is held.
func (d *CheckDelays) warn() {
	d.log.Warn("Checks began late, so alerts may be late: give this host more CPU or fewer streams, and check the way to the media servers",
		"late", d.late, "checks", d.checks, "largest_delay_sec", d.largest.Seconds())
	d.checks, d.late, d.largest = 0, 0, 0
}
