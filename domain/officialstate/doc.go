// Package officialstate decides when the YouTube Data API is asked for the states of streams (decision S23), what
// its answers mean, and when it is not asked any more.
//
//	Account ─ Due ─▶ Begin: which streams, in calls of PerCall ids ─▶ Response of each call
//	   ▲                                                                    │
//	   └──────────────── End: counted, when the next round is due ◀─────────┘
//
// A round asks once about each stream. Rounds are as far apart as the units that are left of the day allow. A round that is not
// answered needs no other step: what a worker knows is old after monitor.OfficialStateLife, and it asks by itself again.
package officialstate
