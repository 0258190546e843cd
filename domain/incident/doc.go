// Package incident decides what an operator handles: the trouble of one stream, from
// its onset to its recovery, however many events it makes (section 16.1). It is pure,
// as domain/watch is: the same inputs at the same times give the same incidents.
//
//	t := incident.NewTracker(newest)    // the newest incident of a monitor
//	changes := t.Step(now, input)       // what follows from an input
//	at := changes[0].Incident.DueAt()   // when time alone changes something next
//
// The life cycle:
//
//	          a condition begins              all conditions ended, quiet
//	(none) ──────────────────────▶ open ─────────────────────────────────▶ resolved
//	                                ▲                                        │
//	                                └────────────────────────────────────────┘
//	                    a condition begins within 10 minutes, unless a person resolved it
//
// Conditions that last when a person resolves an incident go on in it, until they end or
// another incident takes them over.
//
// Guarantees:
//
//   - A monitor has at most one open incident.
//
//   - An open incident has a DueAt, or a condition that lasts. A resolved one in which a
//     condition lasts has a DueAt, and is the newest. A condition ends by a
//     report, after GoodFor without any sign of it, or with its monitor. So every incident
//     is resolved.
//
//   - An input that is applied twice changes nothing the second time.
//
//   - Severity never decreases; SeverityNow is that of what lasts.
//
// Its files:
//
//	file        holds
//	incident    the state, and when time changes it
//	condition   one kind of trouble with its episodes
//	conditions  those of one incident
//	span        when a condition was there
//	alert       the numbers that made the event of an episode
//	severity    the table of condition and duration
//	input       what comes in, and how events and signals become inputs
//	tracker     which incident an input concerns
//	change      the transitions of one incident
//	clock       inputs by the clock of another machine
//	reconcile   conditions whose end was never reported
//	action      what operators do
//	picture     which picture shows the incident best
//	opinion     second opinions about alerts
package incident
