// Package supervisor keeps one worker running for every active monitor (sections 8.2 to
// 8.4 and 10.4, decisions O2 to O5). It starts reserved monitors on time (decision A10).
//
//	WorkerManager  launches, stops and replaces workers; the API calls it
//	Reconciler     compares monitors and workers, at the start and every 5 s
//	Promoter       gives reservations their worker when they are due
//	Handover       releases this gateway's monitors when it stops
//	Membership     finds out that another gateway with inline workers has died
//
// One worker's life:
//
//	Start ──▶ launching ──▶ running ──exit, missing, silent or refused──▶ lost
//	             │  ▲          │                                           ├──▶ ended monitor: forgotten
//	      failed │  │ retry    └──Stop──▶ stopping ──▶ forgotten           ├──▶ next generation: Start
//	             ▼  │                                                      └──▶ monitor.error
//	   monitor.error
//
// A missing worker does not run; a silent one has not reported in time; a refused one has a
// token of another INTERNAL_API_KEY, and is replaced under either policy; an orphaned one
// runs for a monitor that needs none. The gateway retries a launch for 2 minutes, or for
// 10 minutes under the policy relaunch. Within 10 minutes it relaunches a worker five
// times, after 0, 1, 2, 4 and 5 s; at the sixth loss the monitor ends. At most one action
// is under way for each monitor. A newer command cancels it.
//
// Guarantees. The Store, not memory, decides whether a lost worker is still needed.
// Every change names the generation that it expects. So several gateways may see the
// same loss, and only one of them acts. While the database cannot be reached, every
// decision waits and none is lost.
//
// A reservation's way:
//
//	reserved ──ClaimDue──▶ claimed, next generation ──Promote──▶ Start
//	    ▲                     │
//	    └──── after 10 s ─────┘
//
// A claim excludes other gateways for 10 s, so a gateway that dies delays a worker
// and loses none. A new monitor takes the same way, claimed by its registration.
//
// A shutdown ends no monitor: Handover turns the monitors into reservations that are
// due at once. The next gateway resumes them from their last snapshots. It treats the
// workers of monitors that could not be released as missing.
package supervisor
