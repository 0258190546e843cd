// Package delivery has what both kinds of deliveries share. Its packages send them:
//
//	callback     the events of monitors, to the callbacks that were registered (section 4)
//	destination  events and messages, to destinations (section 19)
//	message      what people read
//	routing      the configuration of destinations, routes and silences
//
// Guarantees of callback and destination:
//
//   - Every event and every message is delivered at least once. It stays pending until an
//     attempt with its result is stored. If a failure cannot be stored, the lease
//     expires and it is sent again, with the same id.
//   - A dispatcher does not send it again after the receiver accepted it, even
//     if the success can be stored only much later. Another gateway may send it
//     again, because only this process knows of the success.
//   - A delivery in flight is not sent a second time when its lease expires early,
//     which happens when the database's clock jumps ahead.
//
// Failure behaviour: while the database does not answer, a dispatcher leases nothing; it tries
// again after at most a second. When the database answers again, it records the
// attempts that were in flight.
package delivery
