package loop

import (
	"sync"
	"time"
)

// Entry is a delivery that this dispatcher is sending or recording.
type Entry[D Delivery[D]] struct {
	delivery    D
	leasedUntil time.Time // on this process's monotonic clock
	accepted    bool      // the receiver accepted it; the outbox may not have stored this yet
}

// inFlightSet tracks the deliveries in flight, so that none is sent twice at
// once.
type inFlightSet[D Delivery[D]] struct {
	mu            sync.Mutex
	byKey         map[string]*Entry[D]
	leaseCallOpen bool        // a Lease call is under way, or its deliveries are being added
	retained      []*Entry[D] // accepted deliveries that ended during the Lease call; at most Config.MaxInFlight
}

// addOrRenew adds a leased delivery. If the delivery is in flight already, it replaces
// the lease of that entry and isNew is false. This happens when the database's clock
// jumps ahead: the lease expires in the database, and the same delivery is leased again.
// An accepted delivery keeps its entry even if another gateway has sent it since.
func (s *inFlightSet[D]) addOrRenew(d D, leasedUntil time.Time) (e *Entry[D], isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, found := s.byKey[d.Key()]; found && (e.accepted || e.delivery.AttemptsMade() == d.AttemptsMade()) {
		e.delivery, e.leasedUntil = e.delivery.WithLeaseOf(d), leasedUntil
		return e, false
	}
	e = &Entry[D]{delivery: d, leasedUntil: leasedUntil}
	s.byKey[d.Key()] = e
	return e, true
}

// markAccepted records that the receiver accepted the delivery.
func (s *inFlightSet[D]) markAccepted(e *Entry[D]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.accepted = true
}

// current returns the delivery with its newest lease, and when that lease expires.
func (s *inFlightSet[D]) current(e *Entry[D]) (d D, leasedUntil time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.delivery, e.leasedUntil
}

// finish removes a delivery. A Lease call under way may have read the row before the
// success was stored. finish therefore keeps an accepted entry until that call ends.
func (s *inFlightSet[D]) finish(e *Entry[D]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaseCallOpen && e.accepted {
		s.retained = append(s.retained, e)
		return
	}
	s.remove(e)
}

// beginLeaseCall is called before a Lease call.
func (s *inFlightSet[D]) beginLeaseCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseCallOpen = true
}

// endLeaseCall is called when addOrRenew has got every delivery of the Lease call.
func (s *inFlightSet[D]) endLeaseCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseCallOpen = false
	for _, e := range s.retained {
		s.remove(e)
	}
	s.retained = nil
}

// remove is called with mu held.
func (s *inFlightSet[D]) remove(e *Entry[D]) {
	if s.byKey[e.delivery.Key()] == e {
		delete(s.byKey, e.delivery.Key())
	}
}
