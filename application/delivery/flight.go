package delivery

import "time"

// flight is a letter that this dispatcher is sending. It is the dispatcher's
// until the lease is over, on this process's monotonic clock; one that was
// delivered is so until that is stored.
type inFlight struct {
	delivery    Delivery
	leasedUntil time.Time
	delivered   bool
}

// takeOff begins a flight. A letter that is in the air already is not sent
// beside itself: when the clock of the outbox jumps ahead its lease is over
// there, and the same letter comes again under a new one. The flight then goes
// on under that. So does one that was delivered, whoever has tried it since.
func (d *Dispatcher) begin(l Delivery, until time.Time) (f *inFlight, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, in := d.active[l.EventID]; in && (f.delivered || f.delivery.Attempts == l.Attempts) {
		f.delivery.Lease, f.leasedUntil = l.Lease, until
		return f, false
	}
	f = &inFlight{delivery: l, leasedUntil: until}
	d.active[l.EventID] = f
	return f, true
}

// arrive notes that the receiver has taken the letter.
func (d *Dispatcher) markDelivered(f *inFlight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.delivered = true
}

// look begins a look at the outbox, and hand ends it, when what it gave has been
// handed out.
func (d *Dispatcher) beginLease() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leasing = true
}

func (d *Dispatcher) endLease() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leasing = false
	for _, f := range d.endedWhileLeasing {
		d.forget(f)
	}
	d.endedWhileLeasing = nil
}

// land ends a flight. What is being leased may be a letter as it was just before
// it was stored that it was delivered: such a flight is remembered for so long.
func (d *Dispatcher) end(f *inFlight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leasing && f.delivered {
		d.endedWhileLeasing = append(d.endedWhileLeasing, f)
		return
	}
	d.forget(f)
}

// forget is called under mu.
func (d *Dispatcher) forget(f *inFlight) {
	if d.active[f.delivery.EventID] == f {
		delete(d.active, f.delivery.EventID)
	}
}

// held is the letter under the lease it has now, and until when.
func (d *Dispatcher) current(f *inFlight) (Delivery, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.delivery, f.leasedUntil
}
