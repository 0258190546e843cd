// Package watch decides about one stream. It is a pure state machine without
// clock, context, I/O or goroutines. The same observations at the same times give
// the same effects, so that any incident can be recorded and replayed.
//
//	w := watch.New(rules, now)
//	tasks := w.Next()                   // what to find out next, and when
//	effects := w.Step(now, observation) // the consequences of an observation
//
// The life cycle of a watch (sections 7.1, 7.2 and 7.6):
//
//	mode        observation                           events                  next mode
//	waiting     upcoming, offline, no answer          stream.delayed          waiting
//	waiting     live                                  stream.started          monitoring
//	monitoring  bad media, no media, no answer        alert.*, monitor.error  monitoring
//	either      not live any more, EXT-X-ENDLIST      stream.ended            over
//	either      private, removed, members only, …     monitor.error           over
//	waiting     not a live stream, or never started   monitor.error           over
//
// Tasks belong to two lanes (decision S16). The resolve lane asks for the state of the
// stream. The media lane reads the playlist and analyses its newest segment. Answers, playlists and analyses have a
// handler each.
//
//	file            rule                                               source
//	stream          the start and the ends of a watch                  7.1, 7.2, 7.6
//	resolve, claim  the stream's state; ends that need confirmation    7.2, 7.4, 7.6, S19
//	manifest        which renditions are watched                       5.1, S8
//	identity        which segment is which; copies of different age    S5
//	playlist, feed  new, old and missing segments                      6.1, S5
//	detector        what each detector judges                          6.3, 6.4, S4
//	condition       onset, threshold, recovery                         S1–S3
//	bisection, look finds the segment of a change; key frames or all   S1, S18
//	outage          60 s without new media; URLs that are refused      6.6, S6, S7
//	blindness       5 minutes in which nothing can be learned          S15
//	signal          the conditions that end without an event           16.1
//	task, cadence   which task is due when; backoff                    5.4, 6.2, 7.3, 10.2, S17
//	broadcast, ad   broadcasts that return; advertisements             S25, S26
//	schedule        a start that is late                               7.5
//	pause           a time in which nobody looks                       16.9
//	officialstate   what the source's API says: fewer questions        7.4, S23
//	clock, snapshot a clock that was set; what a successor restores    S1, S11
//
// Alerts and recoveries alternate. Each outage is alerted once. No event states
// more time than has passed. Nothing follows Finished. A Watcher is not safe for
// concurrent use.
package watch
