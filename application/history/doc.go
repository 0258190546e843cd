// Package history answers questions about what happened to monitors, and deletes what is
// too old (sections 16.3 and 16.5).
//
//	report ──▶ spans and minutes ──▶ timeline, statistics, sessions
//	time   ──▶ expired history, and monitors that ended long ago, are deleted
//
// The rules are those of domain/history. The history is stored in the transactions of the
// reports that it follows from.
package history
