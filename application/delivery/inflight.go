package delivery

import (
	"sync"
	"time"
)

// inFlightDelivery is a delivery that this dispatcher is sending or recording.
type inFlightDelivery struct {
	delivery    Delivery
	leasedUntil time.Time // on this process's monotonic clock
	accepted    bool      // the receiver accepted it; the Outbox may not have stored this yet
}

// inFlightSet tracks the deliveries in flight, so that none is sent twice at
// once.
type inFlightSet struct {
	mu            sync.Mutex
	byEvent       map[string]*inFlightDelivery
	leaseCallOpen bool                // a Lease call is under way, or its deliveries are being added
	retained      []*inFlightDelivery // accepted deliveries that ended during the Lease call; at most Config.MaxInFlight
}

// addOrRenew adds a leased delivery. If the delivery is in flight already, it replaces
// the lease of that entry and isNew is false. This happens when the database's clock
// jumps ahead: the lease expires in the database, and the same delivery is leased again.
// An accepted delivery keeps its entry even if another gateway has sent it since.
func (s *inFlightSet) addOrRenew(d Delivery, leasedUntil time.Time) (f *inFlightDelivery, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, found := s.byEvent[d.EventID]; found && (f.accepted || f.delivery.Attempts == d.Attempts) {
		f.delivery.LeaseID, f.leasedUntil = d.LeaseID, leasedUntil
		return f, false
	}
	f = &inFlightDelivery{delivery: d, leasedUntil: leasedUntil}
	s.byEvent[d.EventID] = f
	return f, true
}

// markAccepted records that the receiver accepted the delivery.
func (s *inFlightSet) markAccepted(f *inFlightDelivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.accepted = true
}

// current returns the delivery with its newest lease, and when that lease expires.
func (s *inFlightSet) current(f *inFlightDelivery) (d Delivery, leasedUntil time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.delivery, f.leasedUntil
}

// finish removes a delivery. A Lease call under way may have read the row before the
// success was stored. finish therefore keeps an accepted entry until that call ends.
func (s *inFlightSet) finish(f *inFlightDelivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaseCallOpen && f.accepted {
		s.retained = append(s.retained, f)
		return
	}
	s.remove(f)
}

// beginLeaseCall is called before Outbox.Lease.
func (s *inFlightSet) beginLeaseCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseCallOpen = true
}

// endLeaseCall is called when addOrRenew has got every delivery of the Lease call.
func (s *inFlightSet) endLeaseCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseCallOpen = false
	for _, f := range s.retained {
		s.remove(f)
	}
	s.retained = nil
}

// remove is called with mu held.
func (s *inFlightSet) remove(f *inFlightDelivery) {
	if s.byEvent[f.delivery.EventID] == f {
		delete(s.byEvent, f.delivery.EventID)
	}
}
