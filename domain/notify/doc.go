// Package notify decides which destinations are notified of what, and when. It is pure, as domain/incident is.
//
//	routes, silences    ──▶ which destinations, from when on: ThreadPolicy
//	Situation, Notified ──▶ NextMessage to a destination, if any
//	attempt             ──▶ Decision: when the next one is made, or that none is
//
// Each destination has one thread per incident: the messages sent there about it. Notified
// records what they said. A message is chosen from the present situation when it is sent, so
// a destination that was unreachable gets one message and not ten.
//
// Guarantees:
//
//   - What was opened at a destination is resolved there, silenced or not.
//
//   - A condition makes a sound at most once in PushInterval, unless it gets worse. Only
//     messages that were sent count.
//
//   - An acknowledged incident is neither repeated nor escalated until it gets worse.
//
//     file         holds
//     kind         a channel and its fields
//     channels     the table of channels
//     destination  a place that gets events or messages, and what is wrong with it
//     match        which events and incidents are meant
//     route        a way to destinations
//     routing      where an event or an incident goes, and why
//     silence      when messages are held back
//     thread       the messages about one incident at one destination
//     schedule     attempts, and the health of a destination
//     storm        which incidents become one message, and where
//     actionlink   links that act, in messages
package notify
