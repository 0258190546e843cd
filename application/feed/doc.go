// Package feed shows the changes of the streams to those who follow them (section 16.4).
//
//	change ──▶ inbox ──▶ NumberFeed, by any gateway ──▶ Feed, which keeps the newest entries ──▶ Reader, one for each client
//
// A Feed queries the database as often for one reader as for a thousand. A reader
// begins with the whole state or at a position of its own, and then gets every entry once
// and in order. One that is too slow, or connects after an outage, continues by its position.
//
// While the database does not answer, readers wait, and get heartbeats that say so.
package feed
