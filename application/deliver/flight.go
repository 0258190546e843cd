package deliver

import "time"

// flight is a letter that this dispatcher is sending. It is the dispatcher's
// until the lease is over, on this process's monotonic clock.
type flight struct {
	letter Letter
	until  time.Time
}

// takeOff begins a flight. A letter that is in the air already is not sent
// beside itself: when the clock of the outbox jumps ahead its lease is over
// there, and the same letter comes again under a new one. The flight then goes
// on under that.
func (d *Dispatcher) takeOff(l Letter, until time.Time) (f *flight, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, in := d.flying[l.EventID]; in && f.letter.Attempts == l.Attempts {
		f.letter.Lease, f.until = l.Lease, until
		return f, false
	}
	f = &flight{l, until}
	d.flying[l.EventID] = f
	return f, true
}

// land ends a flight.
func (d *Dispatcher) land(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flying[f.letter.EventID] == f {
		delete(d.flying, f.letter.EventID)
	}
}

// held is the letter under the lease it has now, and until when.
func (d *Dispatcher) held(f *flight) (Letter, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.letter, f.until
}
