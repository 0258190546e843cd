// Package pushes receives what Twitch pushes (decision S28), and lets the elected gateway keep the subscriptions. Package
// domain/eventsub says what messages mean, and which subscriptions there have to be.
//
//	any gateway ─ webhook ──▶ Service.Receive ─┐
//	leader ─ socket ─▶ Follower.listen ────────┴─▶ Store.AcceptMessage: channels and official states of monitors
//	leader ─ each 5 s ▶ Follower.sync ─▶ logins, their ids, what exists ─▶ eventsub.MakePlan ─▶ API
//
// Guarantees:
//
//   - A message is accepted once, by its id, whichever gateways get it and however often.
//   - It is answered once it is stored. One that cannot be stored is refused, and Twitch sends it again.
//   - Whatever fails here is tried again, and changes nothing else: streams are found as without pushes.
package pushes
