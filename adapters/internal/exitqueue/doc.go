// Package exitqueue keeps what a launcher has to tell of the ends of its workers
// for as long as nobody reads it.
//
//	Add ──▶ queue ──▶ one goroutine ──▶ Out
//	                        ▲
//	                      Close ─ a last call of 250 ms ─▶ Out is closed
//
// Guarantees: Add never blocks; ends come out once each, in the order in which
// they were added. The queue has no bound of its own: there is at most one entry
// for each worker that was launched and not yet asked after.
package exitqueue
