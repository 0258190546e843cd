// Package hints finds each minute the hints about all active monitors (section 16.7), and stores what has changed.
// Package domain/hint decides; the elected gateway runs it.
//
//	minutes, incidents, earlier starts ──▶ hint.Facts.Hints ──▶ hint.Compare ──▶ stored, shown, notified
//
// Lists and pages read what is stored: no report and no reader waits for it. Two gateways that run it at once store a
// hint once. A run that fails changes nothing.
package hints
