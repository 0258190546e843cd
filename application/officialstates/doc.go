// Package officialstates asks the official API of a source for the states of streams that have a worker (decision S23), and
// stores them. The YouTube Data API is asked about all, Twitch's Helix about those that wait. The elected gateway runs it. Package domain/officialstate decides.
//
//	streams, account ──▶ Account.Begin ──▶ one call for many ──▶ states ──▶ stored, in answers to reports ──▶ workers
//
// Uploads lists the streams of a channel by the same API, for when other ways fail, within a share of the units.
//
// Units are counted before they are used, in the store: a restart or two leaders at once use no more than the day has.
// A round that fails changes no state. It is logged when the kind of failure changes.
package officialstates
