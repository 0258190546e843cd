// Package eventsub is the contract of Twitch EventSub as far as it is used (decision S28): what Twitch pushes, which messages are
// believed, and which subscriptions there have to be.
//
//	POST of a webhook ─▶ Secret.Read ─▶ Message ─▶ accepted once by its id ─▶ Stream: ask about this stream now
//	frame of a socket ─▶ ReadFrame ───▶ Frame ──▶     "
//	wanted logins, subscriptions that exist ─▶ MakePlan ─▶ what to add and to remove
//
// A message decides nothing about a stream: it lets those ask now who would ask later anyway. So one that is lost, late or twice
// changes no event.
package eventsub
