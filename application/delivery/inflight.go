package delivery

import "sync"

// inFlight has the deliveries that this process is sending or recording, so that none is sent
// twice at once. That would happen when the database's clock jumps ahead: a lease expires
// there, and the delivery is leased again.
type inFlight struct {
	mu       sync.Mutex
	keys     map[string]bool
	leasing  bool     // a Lease call is under way, or its deliveries are being begun
	accepted []string // ended during the Lease call
}

// begin adds a delivery; isNew is false if it is in flight already.
func (f *inFlight) begin(key string) (isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	isNew = !f.keys[key]
	f.keys[key] = true
	return isNew
}

// end removes a delivery. A Lease call under way may have read the row before the success was
// stored. end therefore keeps an accepted delivery until that call ends.
func (f *inFlight) end(key string, accepted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if accepted && f.leasing {
		f.accepted = append(f.accepted, key)
		return
	}
	delete(f.keys, key)
}

// beginLease is called before a Lease call.
func (f *inFlight) beginLease() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leasing = true
}

// endLease is called when every delivery of the Lease call has begun.
func (f *inFlight) endLease() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.accepted {
		delete(f.keys, key)
	}
	f.leasing, f.accepted = false, nil
}
