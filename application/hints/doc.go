// Package hints finds each minute what the record lets expect of the streams (section 16.7), and stores what has
// changed. domain/hint decides; the elected gateway runs it.
//
//	minutes, incidents, earlier starts ──▶ hint.Facts.Hints ──▶ hint.Compare ──▶ stored, shown, told
//
// Lists and pages read what is stored: no report and no reader waits for it. Two gateways that run it at once store a
// hint once. A run that fails changes nothing.
package hints
