// Package delivery sends what is in the outbox: events to the callbacks of monitors and to webhooks
// (section 4), messages to people (section 19). Callbacks and destinations differ in one value, notify.Policy.
//
// The way of a delivery:
//
//	transaction of a report    its monitor is locked; its event, the deliveries of the event, its incident are stored,
//	                           and that the incident has changed
//	Outbox.Lease               each changed incident is due at the destinations of notify.Routing.Places; then, in
//	                           one transaction: destination by destination, under the lock of its row,
//	                           notify.Channel.Allowed says how much it may get, notify.Due.Plan what it is told; then
//	                           callbacks that are due
//	Dispatcher.deliver         Sender sends it once, notify.Policy.Decide says what follows
//	Outbox.Record              the attempt and what follows are stored, and the lease ends; a thread is due again
//	                           soon, until Plan has nothing more to say
//
// Locks are taken in this order: monitors by id, incidents, deliveries. A destination comes before its
// deliveries, in the dispatcher alone: no report waits for one.
//
// Guarantees:
//
//   - Every event and every message is delivered at least once. It stays pending until an attempt with its result
//     is stored. If a failure cannot be stored, the lease expires and it is sent again, with the same id.
//   - What this process has sent and the receiver accepted is not sent again by it, even if the success can
//     be stored only much later. Another gateway may send it again, because only this process knows.
//   - A delivery in flight is not sent a second time when its lease expires early, which happens when the
//     database's clock jumps ahead. Its failure then costs the rest of the new lease.
//   - The answer to a Lease call that gets lost costs one lease, 30 s. A lease does not wait for the database's disk:
//     one that a crash undoes is given again. What an attempt or an action stores later is not kept without it.
//
// Failure behaviour: while the database does not answer, a dispatcher leases nothing; it tries again after at
// most a second. When the database answers again, it records the attempts that were in flight. Incidents that
// cannot be routed keep back no delivery that is due.
//
//	file        holds
//	delivery    a delivery, and the outcome of an attempt
//	ports       the outbox, and what sends and reads
//	dispatcher  leases and records; inflight: what is sent now
//	sender      one attempt; evidence: what a webhook shows of an alert
//	log         what the log says
package delivery
