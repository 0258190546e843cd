// Package watch is the watcher: the whole life of one stream as a pure state
// machine. It has no clock, no context, no I/O and no goroutines; the same
// observations at the same times give the same effects, always, so that any
// incident can be recorded and replayed.
//
//	w := watch.New(rules, now)
//	tasks := w.Next()                  // what to find out next, and when
//	effects := w.Step(now, observation) // what came of it, and what follows
//
// A stream is waited for, then watched, then over:
//
//	           Upcoming, Offline, unanswered              is_live=false, ENDLIST
//	          ┌────────────────┐                        ┌────────────────────────▶ stream.ended
//	          ▼                │    live                │
//	New ──▶ waiting ───────────┴──▶ monitoring ─────────┤
//	          │  stream.delayed      alert.*            │  private, removed
//	          │                      monitor.error      └────────────────────────▶ monitor.error
//	          └─ private, removed, not a live stream, reservation expired ───────▶ monitor.error
//
// The tasks belong to two lanes (decision S16). The resolving lane asks what
// state the stream is in: every 30 s before the start, every 10 s once it is
// late, every 5 minutes while it is live, and whenever an outage has to be
// judged. The media lane reads the playlist and analyses its newest segment,
// once per check interval. A third kind of task, Wake, lets time itself decide
// what no observation would bring up.
//
// Each rule is a small type with one job:
//
//	feed       one media playlist: both tracks, or one of them 6.1, S5, S8
//	condition  black or silent: onset, threshold, recovery     6.3, 6.4, S1–S4
//	trace      finds the segment in which a condition changed  S1
//	outage     60 s without new media, judged by is_live       6.6, 7.6, S6
//	blindness  5 minutes in which nothing could be learned     S15
//	schedule   late starts and expired reservations            7.3, S13, A10
//	cadence    when to look next                               5.4, 6.2, 7.5, S2
//	backoff    when to try again                               10.2
//	clock      the media timeline                              S1
//
// Guarantees: alerts and recoveries alternate; no duration exceeds the time
// that passed by the stream's program time; an outage is told once; nothing
// follows an end. A Watcher is not safe for concurrent use.
package watch
