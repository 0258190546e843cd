// Package postgres keeps monitors, their statistics and their events in
// PostgreSQL: the tables of section 9.1. Store implements what the application
// asks of it.
//
//	control.Registry     registry.go   register, get, list, end
//	                     idempotency.go  registrations under a key
//	control.Limiter      limits.go     what clients have left to spend
//	control.Desk         desk.go       a worker's report, stored whole
//	control.History      history.go    events with the state of their delivery
//	supervisor.Store     roster.go     active monitors, generations
//	                     reservations.go  taken when due, and promoted
//	                     lead.go       the one gateway that looks after all monitors
//	deliver.Outbox       leases.go     whose turn it is in the queue of each monitor
//	                     outbox.go     attempts and what came of them
//	                     listen.go     a wake-up when an event was stored
//
// An event's life:
//
//	stored ──▶ pending ──Lease──▶ leased ──Record──▶ sent
//	              ▲                  │ │
//	              ├───── retry ──────┘ └──────────▶ failed ─▶ monitor: error,
//	              ├───── lease over ─┘                        callback_failed
//	              └───── Redeliver ── sent, failed
//
// What it guarantees:
//
//   - What must hold across gateways is decided here: one active monitor per
//     stream, the maximum and the budgets of clients (decision A5), one
//     registration under a key (A9), one newest generation (O2), one
//     promotion of a reservation (A10), one lease per event, one leased event
//     per monitor (W2).
//   - Events of a monitor are leased in the order they were stored. Everything
//     that adds to a monitor's queue holds the monitor's row, so the order of
//     the sequence is the order of the commits.
//   - Every method may be repeated after an error. A connection lost during
//     COMMIT leaves it unknown whether the work was done; doing it again stores
//     nothing twice. Methods do that themselves a few times when the connection
//     breaks; what they return then is what to tell the caller.
//   - Leases, retries, reservations, budgets, keys and updated_at run by the
//     clock of the database; times in Verdict, NextDue and Due are moved to and
//     from this process's clock. When the database's clock is set back, nothing
//     waits for longer than 70 s: a retry a little over a minute at most, a
//     lease for a whole one, a budget for itself. Only reservations are times of
//     day, and stay so: for how long a new monitor is held is none, and no clock of
//     a gateway's changes it.
//   - A context ends what it is given to also when the server, or the network to
//     it, says nothing any more (session.go); without one, the longest statement
//     and a second is the limit. What is sent and not acknowledged for 3 s, and a
//     listening connection that is silent for 10 s, is lost. The server is told
//     to notice as well: a transaction that it hears nothing more of holds its
//     monitor for 5 s, and a connection that is gone without a word ends after 11.
//   - An error caused by the caller is a *monitor.Error. Any other says what was
//     being done; errors.Is finds the context's error in it when that was the
//     cause.
//
// Rows are locked in the order monitor, then events.
package postgres
