// Package officialstate decides when the official APIs of sources are asked for the states of streams (decision S23), and what
// their answers mean. They are the YouTube Data API, which has units of a day, and Twitch's Helix.
//
//	Account ─ Due ─▶ Begin, BeginAll: which streams, in calls of many ids ─▶ Response of each call
//	   ▲                                                                            │
//	   └──────────────── End: counted, when the next round is due ◀─────────────────┘
//
// A round asks once about each stream. Rounds are as far apart as the units that are left of the day allow. A round that is not
// answered needs no other step: what a worker knows is old after monitor.OfficialStateLife, and it asks by itself again.
package officialstate
