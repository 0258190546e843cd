// Package supervisor keeps one worker running for every active monitor, and starts
// reserved monitors on time. Sections 8.2 to 8.4 and 10.4 and the decisions A10 and
// O2 to O5 apply.
//
//	WorkerManager  launches, stops and replaces workers; the API calls it
//	Reconciler     compares monitors and workers, at the start and every 5 s
//	Promoter       gives reservations their worker when they are due
//	Handover       releases this gateway's monitors when it stops
//
// One worker's life:
//
//	Start ──▶ launching ──▶ running ──exit──▶ lost? ──▶ monitor has ended: forgotten
//	             │  ▲          │ │              ▲ │
//	      failed │  │ retry    │ └──missing─────┘ └──▶ next generation is launched,
//	             ▼  │          │     or silent         or monitor.error
//	   monitor.error           └──Stop──▶ stopping ──▶ forgotten
//
// A launch is retried for 2 minutes (10 under the policy relaunch). The first
// relaunch within 10 minutes is immediate, the next wait 1, 2, 4 and 5 s; after
// five the monitor ends. Each monitor has at most one action under way, and a newer
// command cancels it: a Stop during a launch leaves no worker behind.
//
// Guarantees. Whether a lost worker was still needed is read from the Store, never
// from memory. Every change names the generation that it expects, so any number of
// gateways may see the same loss and one of them acts. A database that is away
// delays decisions and loses none.
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
// A shutdown ends no monitor: Handover makes the monitors reservations that are due
// at once. The next start resumes them from their last snapshots, and finds the ones
// missing that could not be released.
package supervisor
