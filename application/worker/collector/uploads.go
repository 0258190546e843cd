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
	store   Store
	cfg     Config
	discard func(*record) // forgets a capture

	waiting  []*record // the next one first
	quotaAt  time.Time // when it was logged last that the quota refuses files
	failures int       // in a row
	nextAt   time.Time // of the next attempt
}

// add lets a capture wait for its upload. If too many wait, the oldest lose their files,
// and then their notes.
func (u *uploads) add(r *record) {
	r.keepUntil = time.Now().Add(keepFiles)
	switch {
	case !r.left():
		u.end(r)
	case !slices.Contains(u.waiting, r):
		u.waiting = append(u.waiting, r)
	}
	withFiles := 0
	for _, w := range slices.Backward(u.waiting) {
		if w.files.next() == nil {
			continue
		}
		if withFiles++; withFiles > maxFiles {
			w.loseFiles("too many captures waited")
		}
	}
	if len(u.waiting) > maxNotes {
		oldest := u.waiting[0]
		oldest.logLost("too many captures waited")
		u.discard(oldest)
	}
}

func (u *uploads) remove(r *record) {
	u.waiting = slices.DeleteFunc(u.waiting, func(w *record) bool { return w == r })
}

// end removes a capture without anything to upload, and forgets one that is complete.
func (u *uploads) end(r *record) {
	u.remove(r)
	if r.complete && !r.left() {
		u.discard(r)
	}
}

// attempt makes one attempt to upload one file, once the gateway has the event. It waits
// for that, and for the next attempt, until idle is done. The end of ctx cancels the attempt.
func (u *uploads) attempt(ctx, idle context.Context) {
	expiry := u.loseExpiredFiles()
	if !expiry.IsZero() {
		var cancel context.CancelFunc
		idle, cancel = context.WithDeadline(idle, expiry)
		defer cancel()
	}
	if !wait.For(idle, time.Until(u.nextAt)) {
		return
	}
	r := u.waiting[0]
	if !r.reported {
		if u.cfg.Reported(idle); idle.Err() != nil {
			return
		}
		r.reported = true
	}
	attempt, stop := context.WithTimeout(ctx, uploadLimit)
	defer stop()
	err := u.send(attempt, r)
	switch {
	case err == nil:
		u.failures, u.nextAt = 0, time.Time{}
		if !r.left() {
			u.end(r)
		}
	case ctx.Err() != nil:
	case isFinal(err):
		r.logLost(err.Error())
		u.discard(r)
	default:
		r.lastErr = err
		u.failures++
		u.nextAt = time.Now().Add(uploadBackoff.Delay(u.failures))
		u.waiting = append(u.waiting[1:], r) // another may be taken
	}
}

// loseExpiredFiles frees the files that have waited for too long. It returns when the next
// files expire; zero: no capture has files.
func (u *uploads) loseExpiredFiles() (next time.Time) {
	for _, r := range u.waiting {
		switch {
		case r.files.next() == nil:
		case !time.Now().Before(r.keepUntil):
			r.loseFiles("the gateway did not take " + r.files.missing())
		case next.IsZero() || r.keepUntil.Before(next):
			next = r.keepUntil
		}
	}
	return next
}

// send uploads the next file of a capture, or its note if no file is left. A file that the
// gateway will never accept costs a note.
func (u *uploads) send(ctx context.Context, r *record) error {
	up := evidence.Upload{
		Generation: u.cfg.Generation, Unclear: r.defects.unclear,
		Record: evidence.Record{ID: r.id, MonitorID: u.cfg.MonitorID, EventID: r.eventID, Condition: r.condition, Phase: r.phase, Note: r.defects.text()},
	}
	f := r.files.next()
	if f == nil {
		err := u.store.AddEvidence(ctx, up, nil)
		r.defects.uploaded = err == nil
		return err
	}
	up.File = &f.meta
	err := u.store.AddEvidence(ctx, up, io.NewSectionReader(f.content, 0, f.meta.Size))
	if isRefused(err) {
		u.logQuota(r, err)
		r.defects.note("%s: %v", f.meta.Variant, err)
		err = nil
	}
	if err == nil {
		f.close()
	}
	return err
}

// logQuota logs, once within the period of the quota, that the gateway refuses files because of it.
func (u *uploads) logQuota(r *record, err error) {
	var answer *monitor.Error
	if !errors.As(err, &answer) || answer.Code != evidence.QuotaExceeded || !u.quotaAt.IsZero() && time.Since(u.quotaAt) < evidence.QuotaPeriod {
		return
	}
	u.quotaAt = time.Now()
	r.log.Warn("The gateway takes no more files of evidence of this monitor for now; alerts go on, and notes say what is missing",
		"error", err, "evidence_id", string(r.id), "event_id", r.eventID)
}

// isRefused reports whether the gateway will not accept this file.
func isRefused(err error) bool {
	var answer *monitor.Error
	return errors.As(err, &answer) && slices.Contains([]monitor.Code{monitor.InvalidConfig, evidence.Conflict, evidence.QuotaExceeded}, answer.Code)
}

// isFinal reports whether the gateway will never accept anything of this record.
func isFinal(err error) bool {
	var answer *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || isRefused(err) || errors.As(err, &answer) && answer.Code == monitor.NotFound
}
