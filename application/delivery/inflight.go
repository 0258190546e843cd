package delivery

import (
	"sync"
	"time"
)

// inFlight is a delivery that this dispatcher is sending or recording.
type inFlight struct {
	delivery    Delivery
	leasedUntil time.Time // on this process's monotonic clock
	delivered   bool      // the receiver accepted it, which may not be stored yet
}

// inFlightSet tracks the deliveries in flight, so that none is sent twice at
// once.
type inFlightSet struct {
	mu      sync.Mutex
	byEvent map[string]*inFlight
	leasing bool        // a lease is under way, or its deliveries are being begun
	ended   []*inFlight // delivered ones that ended during the lease; at most Config.MaxInFlight
}

// begin adds a leased delivery; isNew is false if it is in flight already. That
// happens when the outbox's clock jumps ahead: the lease expires there, and the
// same delivery is leased again. It then continues under the new lease. A
// delivered one does so even if another gateway has tried it since.
func (s *inFlightSet) begin(d Delivery, leasedUntil time.Time) (f *inFlight, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, found := s.byEvent[d.EventID]; found && (f.delivered || f.delivery.Attempts == d.Attempts) {
		f.delivery.Lease, f.leasedUntil = d.Lease, leasedUntil
		return f, false
	}
	f = &inFlight{delivery: d, leasedUntil: leasedUntil}
	s.byEvent[d.EventID] = f
	return f, true
}

// markDelivered records that the receiver accepted the delivery.
func (s *inFlightSet) markDelivered(f *inFlight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.delivered = true
}

// current returns the delivery under its current lease, and when that expires.
func (s *inFlightSet) current(f *inFlight) (d Delivery, leasedUntil time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.delivery, f.leasedUntil
}

// end removes a delivery. A Lease call under way may have read its row before the
// success was stored. A delivered entry therefore stays until that call ends.
func (s *inFlightSet) end(f *inFlight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leasing && f.delivered {
		s.ended = append(s.ended, f)
		return
	}
	s.remove(f)
}

// beginLease is called before a lease.
func (s *inFlightSet) beginLease() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leasing = true
}

// endLease is called when every delivery of the lease has begun.
func (s *inFlightSet) endLease() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leasing = false
	for _, f := range s.ended {
		s.remove(f)
	}
	s.ended = nil
}

// remove is called with mu held.
func (s *inFlightSet) remove(f *inFlight) {
	if s.byEvent[f.delivery.EventID] == f {
		delete(s.byEvent, f.delivery.EventID)
	}
}
