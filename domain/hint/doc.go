// Package hint finds what the recorded history suggests about a stream (section 16.7): its sound dies away, a condition
// comes back, or it will start late. A hint itself is a monitor.Hint, because a monitor is shown with its hints.
//
//	minutes of sound level ────────▶ quieter     ─┐
//	onsets of a condition ─────────▶ recurring   ─┼─▶ Facts.Hints ─▶ Compare ─▶ Changes
//	starts of the channel's streams ▶ lateStarts ─┘
//
// Each hint is a pure function of numbers and of the time. Its limits err on the quiet side: time of which nothing
// was measured, silence, and too few streams give no hint. A hint is no alert and opens no incident.
package hint
