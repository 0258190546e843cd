// Package supervise keeps a live worker for every active monitor: it launches,
// adopts, stops, notices ends and silences, and decides what they mean (sections
// 8.2 to 8.4 and 10.4, decisions O2 to O5). A reservation gets its worker when
// its time has come (decision A10).
//
//	Start ───────▶ launching ──▶ running ──▶ exit ───▶ inquiring ──▶ (ended itself: nothing)
//	                 │    ▲         │          ▲          │
//	         failed  │    │ 1 2 4 s │ Stop     │          └──▶ lost: another generation,
//	                 ▼    │ 5 5 5 … ▼          │                     or monitor.error
//	       for 2 or 10 min:               missing, silent
//	         monitor.error              (Reconcile, Watch)
//
// Launches are tried for 2 minutes, or, where lost workers are replaced, for 10.
// The first replacement of a worker within 10 minutes comes at once, later ones
// after 1, 2, 4 and 5 s; five do not help: monitor.error.
//
// One goroutine, Run, acts on every worker. For each monitor at most one action
// is under way at a time (a launch with its retries, a stop, an inquiry), in a
// goroutine of its own; a newer wish cancels an older one. So a Stop during a
// launch never leaves a worker behind, and one monitor's slow stop delays no
// other's launch.
//
// Another, Reconcile and then Watch, compares the active monitors with the
// workers that run, first at the start and then every few seconds. What it finds
// is judged by judge, and carried out by Run:
//
//	its worker runs, and nobody looks after it     adopted: launching what runs does nothing
//	it does not run where only we launch           missing
//	it has not reported for 30 s                   silent (the elected gateway says so)
//	a worker runs that no active monitor needs     ended
//
// Whether a worker that was lost was still needed is asked of the Roster, never
// of memory: a monitor that has ended, or that has a newer generation, is none of
// ours any more. A worker's last report comes before its end, so a worker that
// finished its stream finds its monitor ended. Whoever changes a monitor says
// what it took it for; so any number of gateways may see the same loss, and one
// of them mends it.
//
// Promote, a goroutine of its own, gives reservations their workers. Any number
// of gateways may do so on the same Roster; the elected one looks for them:
//
//	reserved ──Due──▶ taken, with its next generation ──Promote──▶ Start
//	    ▲                  │
//	    └── 10 s are over ─┘
//
// Being taken excludes all other gateways, for a while; so a gateway that dies
// then, or that is not told what it has taken, delays a worker and loses none.
// Promote may be repeated until its answer is heard; a gateway that dies between
// that and the launch finds the worker missing when it is back. A monitor just
// registered goes the same way, as a reservation that its gateway has taken. A
// reservation that has been ended, or that another gateway has taken since, is
// not promoted. One whose end has passed while no gateway ran is: its worker
// finds out, and ends it.
//
// A shutdown ends no monitor. Run stops deciding when its context is done; what
// the launcher's Close ends afterwards is not looked at. Release then gives the
// monitors back as reservations that are due, so that another gateway, or the
// next start of this one, goes on with workers of a newer generation from the
// last snapshots. What a gateway could not give back, its next start finds
// missing.
//
// A database that is away delays decisions; none is forgotten while Run runs.
package supervisor
