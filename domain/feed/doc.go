// Package feed is the contract of the feed (section 16.4). It has the types of entries and
// messages, their data, and the positions from which readers continue.
//
//	change of a monitor, an incident, a delivery ──▶ inbox ──▶ Data ──▶ Entry (numbered after the commit of the change)
//
// Data is a whole object, never a difference. A reader replaces what it had under
// the same id, so that reading an entry again changes nothing.
//
// Entries are numbered 1, 2, 3 … and are committed in that order, without
// gaps. A Position names the last entry that a reader has seen. Readers also get
// messages that are not stored: state.replace, heartbeat and bye. State is all that is
// still open, so that a reader that begins with it misses nothing.
//
// The package only describes entries; it never stores or sends them.
package feed
