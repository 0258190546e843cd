// Package supervisor keeps one worker running for every active monitor (sections 8.2 to
// 8.4 and 10.4, decisions O2 to O5). It starts reserved monitors on time (decision A10).
//
// One loop (loop) compares desired with actual, and orders one task for each difference. Goroutines
// beside it read both (observer) and try the tasks (actions):
//
//	monitors, workers ─▶ evaluate(facts) ─▶ verdict ─┐
//	commands, exits of workers ──────────────────────┼─▶ task, due at a time ─▶ try ─▶ result
//	                                                 └───────── next task, or the same later ◀─┘
//
// The tasks of one worker:
//
//	promote ──▶ launch ──▶ it runs ──exit, missing, silent, refused or abandoned──▶ replace
//	               │  ▲                                                              ├──▶ ended monitor: forgotten
//	        failed │  └────────────────── next generation ───────────────────────────┤
//	               ▼                                                                 └──▶ monitor.error
//	            giveUp ──▶ monitor.error
//
//	stop ──▶ forgotten                     checkOrphan ──it has no monitor──▶ stop
//
// A missing worker does not run; a silent one has not reported in time; a refused one has a
// token of another INTERNAL_API_KEY; an abandoned one ended with its gateway; an orphaned one
// runs for a monitor that needs none. A registered monitor, and one that a gateway has handed
// over, is due now, a reservation at its time, a lost worker after its delay. A task that fails
// is due again after a pause: a launch for 2 minutes, or 10 under the policy relaunch. Within
// 10 minutes the gateway relaunches a worker five times, after 0, 1, 2, 4 and 5 s; at the sixth
// loss the monitor ends. At most one task is under way for each monitor. A newer one cancels it.
//
// Guarantees. The Store, not memory, decides whether a lost worker is still needed.
// Every change names the generation that it expects. So several gateways may see the
// same loss, and only one of them acts. While the database cannot be reached, every
// decision waits and none is lost. A claim of a due monitor excludes other gateways for
// 10 s, so a gateway that dies delays a worker and loses none; a registration claims its
// monitor for its gateway. A shutdown ends no monitor: Handover makes reservations
// of the monitors, which are due at once. The next gateway resumes them from their last
// snapshots. It treats the workers of monitors that could not be released as missing.
package supervisor
