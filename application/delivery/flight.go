package delivery

import "time"

// flight is a letter that this dispatcher is sending. It is the dispatcher's
// until the lease is over, on this process's monotonic clock; one that was
// delivered is so until that is stored.
type flight struct {
	letter    Letter
	until     time.Time
	delivered bool
}

// takeOff begins a flight. A letter that is in the air already is not sent
// beside itself: when the clock of the outbox jumps ahead its lease is over
// there, and the same letter comes again under a new one. The flight then goes
// on under that. So does one that was delivered, whoever has tried it since.
func (d *Dispatcher) takeOff(l Letter, until time.Time) (f *flight, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, in := d.flying[l.EventID]; in && (f.delivered || f.letter.Attempts == l.Attempts) {
		f.letter.Lease, f.until = l.Lease, until
		return f, false
	}
	f = &flight{letter: l, until: until}
	d.flying[l.EventID] = f
	return f, true
}

// arrive notes that the receiver has taken the letter.
func (d *Dispatcher) arrive(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.delivered = true
}

// look begins a look at the outbox, and hand ends it, when what it gave has been
// handed out.
func (d *Dispatcher) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking = true
}

func (d *Dispatcher) hand() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking = false
	for _, f := range d.landed {
		d.forget(f)
	}
	d.landed = nil
}

// land ends a flight. What is being leased may be a letter as it was just before
// it was stored that it was delivered: such a flight is remembered for so long.
func (d *Dispatcher) land(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.looking && f.delivered {
		d.landed = append(d.landed, f)
		return
	}
	d.forget(f)
}

// forget is called under mu.
func (d *Dispatcher) forget(f *flight) {
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
