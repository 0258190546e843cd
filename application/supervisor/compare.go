package supervisor

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// compare orders what follows from the difference between monitors and workers.
func (l *loop) compare(o observation, now time.Time) {
	l.leases.beginComparison(now)
	l.leases.retain(o.active)
	l.relaunches.retain(o.active)
	if l.shuttingDown.Load() {
		return
	}
	takeovers := 0
	for _, m := range o.active {
		if l.check(o, m, takeovers) == abandoned {
			takeovers++
		}
	}
	for id, listed := range o.workers {
		if _, active := o.active[id]; !active {
			l.checkUnneeded(listed, now)
		}
	}
}

// check orders what an active monitor needs, and returns why. takeovers counts the abandoned
// workers that this comparison has found before.
func (l *loop) check(o observation, m monitor.Monitor, takeovers int) verdict {
	w := l.workers[m.ID]
	if w == nil {
		w = &worker{} // no task has concerned it
	}
	w.unneededSince = time.Time{}
	f, expiredLease := l.facts(o, m, w)
	found := evaluate(f)
	switch found {
	case nothingToDo, unneeded:
	case adopt:
		l.startup.count(adopted)
		l.order(startTask(m))
	case outdated:
		if w.generation <= f.runningGeneration {
			l.startup.count(superseded)
			l.order(&task{id: m.ID, kind: stop})
		}
	case missing, silent, refused, abandoned:
		if w.generation > m.Generation {
			break // the list of monitors is old
		}
		delay := time.Duration(0)
		if found == abandoned { // several takeovers of one comparison begin one after the other
			delay = time.Duration(takeovers) * takeoverPause % takeoverSpread
		}
		l.lose(m.ID, m.Generation, delay, l.loss(found, m, o.workers[m.ID], expiredLease))
		l.startup.await(m.ID)
	}
	return found
}

// facts returns what this comparison knows of an active monitor and its worker. expiredLease is
// the duration of the worker's lease if it has expired, else 0.
func (l *loop) facts(o observation, m monitor.Monitor, w *worker) (f facts, expiredLease time.Duration) {
	listed := o.workers[m.ID]
	expiredLease, unlistedBefore := l.leases.record(m, listed, o.listErr)
	busy := w.newest() != nil
	if busy { // the time of a launch or of a stop is not the worker's
		l.leases.renew(m.ID, m.Generation)
	}
	return facts{
		busy:              busy,
		newestGeneration:  m.Generation,
		runningGeneration: listed.Generation,
		refused:           listed.Refused,
		listUnavailable:   o.listErr != nil,
		ownedByGateway:    w.generation >= m.Generation,
		inOwnRuntime:      m.RuntimeID == l.runtime.ID,
		sharedRuntime:     l.runtime.Shared,
		leader:            o.leader,
		reported:          !m.ReportedAt.IsZero(),
		unlistedBefore:    unlistedBefore,
		leaseExpired:      expiredLease > 0,
		takesOver:         l.membership.takesOver(m.ID, m.RuntimeID),
		gatewayBeats:      l.membership.beats(m.RuntimeID),
	}, expiredLease
}

// loss describes the loss that a comparison has found.
func (l *loop) loss(found verdict, m monitor.Monitor, listed Worker, expiredLease time.Duration) workerLoss {
	loss := workerLoss{reason: event.ReasonWorkerLost, attempts: maxLossAttempts}
	switch found {
	case missing:
		loss.reason, loss.missing, loss.blameless = event.ReasonMismatch, true, !l.runtime.Shared
		loss.details = l.runtime.NotFoundMessage + " during " + l.startup.occasion()
	case refused:
		loss.details, loss.blameless = "its token comes from another INTERNAL_API_KEY", true
	case silent:
		// After a failure the lease starts again; the loss is found again when it expires.
		loss.details, loss.attempts, loss.seenUpdatedAt = silenceDetails(expiredLease, listed), 1, m.UpdatedAt
	case abandoned:
		// The next comparison finds the loss again, unless the gateway has come back.
		loss.details, loss.attempts, loss.seenUpdatedAt = "the gateway that ran the worker sends no heartbeat any more", 1, m.UpdatedAt
		loss.blameless = true
	case nothingToDo, adopt, outdated, unneeded: // no losses
	}
	return loss
}

// silenceDetails says how long a worker has not reported, with the launcher's reason if
// there is one.
func silenceDetails(lease time.Duration, w Worker) string {
	details := "the worker has not reported for "
	if w.Pending {
		details = "the worker has not started for "
	}
	details += lease.String()
	if w.PendingReason != "" {
		details += ": " + w.PendingReason
	}
	return details
}

// checkUnneeded orders the end of a worker that is not needed: its monitor has ended, is
// a reservation, or does not exist.
func (l *loop) checkUnneeded(listed Worker, now time.Time) {
	f := facts{unneeded: true}
	if w := l.workers[listed.ID]; w != nil {
		f.busy, f.ownedByGateway = w.newest() != nil, w.generation >= listed.Generation
		if w.unneededSince.IsZero() && !f.busy {
			w.unneededSince = now
		}
		f.unneededFor = now.Sub(w.unneededSince)
	}
	if evaluate(f) == unneeded {
		l.order(&task{id: listed.ID, kind: checkOrphan, generation: listed.Generation})
		l.startup.await(listed.ID)
	}
}
