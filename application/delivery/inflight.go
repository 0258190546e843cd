package delivery

import (
	"sync"
	"time"
)

// leased is a delivery under lease, as a loop handles it.
type leased[D any] interface {
	key() string           // names what is sent: an event, or one message of a thread
	attempts() int         // made before this one
	withLeaseOf(other D) D // the delivery under the lease of another one with its key
}

// inFlightDelivery is a delivery that this dispatcher is sending or recording.
type inFlightDelivery[D leased[D]] struct {
	delivery    D
	leasedUntil time.Time // on this process's monotonic clock
	accepted    bool      // the receiver accepted it; the Outbox may not have stored this yet
}

// inFlightSet tracks the deliveries in flight, so that none is sent twice at
// once.
type inFlightSet[D leased[D]] struct {
	mu            sync.Mutex
	byKey         map[string]*inFlightDelivery[D]
	leaseCallOpen bool                   // a Lease call is under way, or its deliveries are being added
	retained      []*inFlightDelivery[D] // accepted deliveries that ended during the Lease call; at most Config.MaxInFlight
}

// addOrRenew adds a leased delivery. If the delivery is in flight already, it replaces
// the lease of that entry and isNew is false. This happens when the database's clock
// jumps ahead: the lease expires in the database, and the same delivery is leased again.
// An accepted delivery keeps its entry even if another gateway has sent it since.
func (s *inFlightSet[D]) addOrRenew(d D, leasedUntil time.Time) (f *inFlightDelivery[D], isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, found := s.byKey[d.key()]; found && (f.accepted || f.delivery.attempts() == d.attempts()) {
		f.delivery, f.leasedUntil = f.delivery.withLeaseOf(d), leasedUntil
		return f, false
	}
	f = &inFlightDelivery[D]{delivery: d, leasedUntil: leasedUntil}
	s.byKey[d.key()] = f
	return f, true
}

// markAccepted records that the receiver accepted the delivery.
func (s *inFlightSet[D]) markAccepted(f *inFlightDelivery[D]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.accepted = true
}

// current returns the delivery with its newest lease, and when that lease expires.
func (s *inFlightSet[D]) current(f *inFlightDelivery[D]) (d D, leasedUntil time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.delivery, f.leasedUntil
}

// finish removes a delivery. A Lease call under way may have read the row before the
// success was stored. finish therefore keeps an accepted entry until that call ends.
func (s *inFlightSet[D]) finish(f *inFlightDelivery[D]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaseCallOpen && f.accepted {
		s.retained = append(s.retained, f)
		return
	}
	s.remove(f)
}

// beginLeaseCall is called before a lease call.
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
	for _, f := range s.retained {
		s.remove(f)
	}
	s.retained = nil
}

// remove is called with mu held.
func (s *inFlightSet[D]) remove(f *inFlightDelivery[D]) {
	if s.byKey[f.delivery.key()] == f {
		delete(s.byKey, f.delivery.key())
	}
}
