// Package watch decides about one stream: a pure state machine without clock,
// context, I/O or goroutines. The same observations at the same times give the
// same effects, so that any incident can be recorded and replayed.
//
//	w := watch.New(rules, now)
//	tasks := w.Next()                   // what to find out next, and when
//	effects := w.Step(now, observation) // what follows from an observation
//
// The life cycle of a watch (sections 7.1, 7.2 and 7.6):
//
//	           Upcoming, Offline, no answer             not live, ENDLIST
//	          ┌────────────────┐                        ┌────────────────────▶ stream.ended
//	          ▼                │    live                │
//	New ──▶ waiting ───────────┴──▶ monitoring ─────────┤
//	          │  stream.delayed      alert.*            │  private, removed, …
//	          │                      monitor.error      └────────────────────▶ monitor.error
//	          └─ private, removed, not a live stream, reservation expired ───▶ monitor.error
//
// Tasks belong to two lanes (decision S16). The resolve lane asks for the state
// of the stream; the media lane reads the playlist and analyses its newest
// segment. TaskWake lets time itself decide what no observation brings up.
//
//	file            rule                                             source
//	resolve, claim  the stream's state; ends that need confirmation  7.2, 7.4, 7.6, S19
//	manifest        manifest, renewal, renditions                    5.1, S7, S8
//	playlist, feed  new, old and missing segments                    6.1, S5
//	detector*       what each detector judges                        6.3, 6.4, S4
//	condition       onset, threshold, recovery                       S1–S3
//	bisection       finds the segment in which a condition changed   S1
//	outage          60 s without new media                           6.6, S6
//	blindness       5 minutes in which nothing can be learned        S15
//	schedule        late starts and expired reservations             7.3, S13, A10
//	cadence         when to look next, and backoff                   5.4, 6.2, 7.5, 10.2
//	clock           the media timeline; a clock that was set         S1
//	snapshot        what a successor goes on from                    S11
//
// Alerts and recoveries alternate, an outage is alerted once, no duration
// exceeds the time that passed, and nothing follows an end. A Watcher is not
// safe for concurrent use.
package watch
