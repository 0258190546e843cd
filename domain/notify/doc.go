// Package notify decides which destinations are notified of what, and when. It is pure, as domain/incident is.
//
//	an incident has changed         ──▶ Routing.Places: where that may have to be told
//	a destination has something due ──▶ Channel.Allowed: how much it may get now
//	                                ──▶ Due.Plan: what it is told, and which incidents are a storm there
//	                                      Situation, Notified, ThreadPolicy ──▶ Next: the message, or when to ask again
//	an attempt was made             ──▶ Policy.Decide: when the next one is made, or that none is; Health.After
//
// Each destination has one thread per incident, and one per storm: the messages sent there about
// it. Notified records what they said. A message is chosen from the present situation when it is
// leased, so a destination that was unreachable gets one message and not ten. Due.Plan is the one
// place that chooses.
//
// A storm is of one destination, and of incidents that it is told of. Due.Plan makes it. An incident
// stays in it until it comes back later or gets worse.
//
// Guarantees:
//
//   - What was opened at a destination is resolved there, silenced or not.
//
//   - A condition makes a sound at most once in PushInterval, unless it gets worse. Only
//     messages that were sent count.
//
//   - Second opinions hold a message back for at most incident.OpinionWithin, and hide no end of what was told.
//
//   - An acknowledged incident is neither repeated nor escalated until it gets worse.
//
// Its files:
//
//	file         holds
//	kind         a channel and its fields
//	channels     the table of channels
//	destination  a place that gets events or messages, and what is wrong with it
//	match        which events and incidents are meant
//	route        a way to destinations
//	routing      where an event or an incident goes, and why
//	silence      when messages are held back
//	plan         where incidents are told, and what a destination is told now
//	thread       an incident or a storm as messages tell it, and what a destination knows of it
//	nextmessage  the table of what there is to tell and which message does
//	storm        which incidents become one message
//	opinion      what second opinions mean for messages
//	schedule     how attempts follow each other: Policy
//	health       failures, circuit and rate limit of a destination
//	actionlink   links that act, in messages
package notify
