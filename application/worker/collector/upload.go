package collector

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of uploads.
const (
	uploadLimit = 2 * time.Minute  // of one attempt
	keepFiles   = 10 * time.Minute // after the last job of a capture, for a gateway that is away
	maxFiles    = 8                // captures that wait with their files
	maxNotes    = 64               // captures that wait, most of them with a note alone
)

// uploadBackoff is the time between two attempts after failures in a row.
var uploadBackoff = backoff.Policy{First: time.Second, Max: 16 * time.Second}

// uploads are the captures with something to upload. Only the goroutine of the Collector
// uses it.
type uploads struct {
	waiting  []*record // the next one first
	failures int       // in a row
	nextAt   time.Time // of the next attempt
}

func (u *uploads) remove(r *record) {
	u.waiting = slices.DeleteFunc(u.waiting, func(w *record) bool { return w == r })
}

// upload lets a capture wait for its upload. If too many wait, the oldest lose their files,
// and then their notes.
func (c *Collector) upload(r *record) {
	r.keepUntil = time.Now().Add(keepFiles)
	switch {
	case !r.left():
		c.endUploaded(r)
	case !slices.Contains(c.uploads.waiting, r):
		c.uploads.waiting = append(c.uploads.waiting, r)
	}
	withFiles := 0
	for _, w := range slices.Backward(c.uploads.waiting) {
		if w.nextFile() == nil {
			continue
		}
		if withFiles++; withFiles > maxFiles {
			w.loseFiles("too many captures waited")
		}
	}
	if oldest := c.uploads.waiting; len(oldest) > maxNotes {
		oldest[0].logLost("too many captures waited")
		c.discard(oldest[0])
	}
}

// endUploaded forgets a capture that is complete and uploaded.
func (c *Collector) endUploaded(r *record) {
	c.uploads.remove(r)
	if r.complete && !r.left() {
		c.discard(r)
	}
}

// uploadNext makes one attempt to upload one file, once the gateway has the event. It
// returns earlier if a job is added.
func (c *Collector) uploadNext() {
	u := &c.uploads
	ctx, cancel := c.untilInterrupt()
	defer cancel()
	expiry := c.loseExpiredFiles()
	if !expiry.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, expiry)
		defer cancel()
	}
	if !wait.For(ctx, time.Until(u.nextAt)) {
		return
	}
	r := u.waiting[0]
	if !r.reported {
		if c.cfg.Reported(ctx); ctx.Err() != nil {
			return
		}
		r.reported = true
	}
	attempt, stop := context.WithTimeout(c.ctx, uploadLimit)
	defer stop()
	err := r.upload(attempt)
	switch {
	case err == nil:
		u.failures, u.nextAt = 0, time.Time{}
		if !r.left() {
			c.endUploaded(r)
		}
	case c.ctx.Err() != nil:
	case isFinal(err):
		r.logLost(err.Error())
		c.discard(r)
	default:
		r.lastErr = err
		u.failures++
		u.nextAt = time.Now().Add(uploadBackoff.Delay(u.failures))
		u.waiting = append(u.waiting[1:], r) // another may be taken
	}
}

// loseExpiredFiles lets captures lose the files that have waited for too long. It returns
// when the next files will have; zero: no capture has files.
func (c *Collector) loseExpiredFiles() (next time.Time) {
	for _, r := range c.uploads.waiting {
		switch {
		case r.nextFile() == nil:
		case !time.Now().Before(r.keepUntil):
			r.loseFiles("the gateway did not take " + r.missingFiles())
		case next.IsZero() || r.keepUntil.Before(next):
			next = r.keepUntil
		}
	}
	return next
}

// upload uploads the next file, or the note if no file is left. A file that the gateway
// will never accept costs a note.
func (r *record) upload(ctx context.Context) error {
	u := Upload{
		Generation: r.c.cfg.Generation, Unclear: r.unclear,
		Record: evidence.Record{ID: r.id, MonitorID: r.c.cfg.MonitorID, EventID: r.eventID, Condition: r.condition, Phase: r.phase, Note: r.noteText()},
	}
	f := r.nextFile()
	if f == nil {
		err := r.c.ports.Store.AddEvidence(ctx, u)
		r.noted = err == nil
		return err
	}
	u.File, u.Body = &f.meta, io.NewSectionReader(f.content, 0, f.meta.Size)
	err := r.c.ports.Store.AddEvidence(ctx, u)
	if isRefused(err) {
		r.note("%s: %v", f.meta.Variant, err)
		err = nil
	}
	if err == nil {
		f.close()
	}
	return err
}

// isRefused reports whether the gateway will never accept this file.
func isRefused(err error) bool {
	var answer *monitor.Error
	return errors.As(err, &answer) && (answer.Code == monitor.InvalidConfig || answer.Code == evidence.Conflict)
}

// isFinal reports whether the gateway will never accept anything of this record.
func isFinal(err error) bool {
	var answer *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || isRefused(err) || errors.As(err, &answer) && answer.Code == monitor.NotFound
}
