// Package exitqueue holds the exits of a launcher's workers until the supervisor reads
// them.
//
//	Add ──▶ queue ──▶ one goroutine ──▶ Out
//	                        ▲
//	                      Close ─ up to 250 ms for the rest ─▶ Out is closed
//
// Guarantees: Add never blocks; exits come out once each, in the order in which they
// were added. The queue is unbounded: it holds at most one entry for each worker that
// was launched.
package exitqueue
