// Package eventsub is the used part of the contract of Twitch EventSub (decision S28). It says what Twitch pushes, which messages
// are believed, and which subscriptions there have to be.
//
//	POST of a webhook ─▶ Secret.Read ─▶ Message ─▶ accepted once by its id ─▶ Stream: ask about this stream now
//	frame of a socket ─▶ ReadFrame ───▶ Frame ──▶     "
//	wanted logins, subscriptions that exist ─▶ MakePlan ─▶ what to add and to remove
//
// A message decides nothing about a stream: it lets those ask now who would ask later anyway. So one that is lost, late or twice
// changes no event.
package eventsub
