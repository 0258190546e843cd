// Package capture decides what is captured as evidence of alerts and recoveries, and
// when (section 16.2). It follows a watcher from outside and changes nothing there.
//
//	condition lasts 3 s ─▶ Collect   pictures, and the media that analysis fetched
//	alert ───────────────▶ Report    the pictures become evidence; the other media are fetched
//	onset + 30 s ────────▶ Complete  sound levels and clip
//	recovery + 0.5 s ────▶ Complete of a record of its own, once newer media show it
//	ended, not alerted ──▶ Discard
//
// Pictures are taken before the alert, because a playlist may list less time than the
// threshold: at the alert the onset would be gone. A condition of less than three
// seconds, such as a pause in speech, costs nothing. One that ends without an alert costs
// one segment. Pictures are of the watched rendition or a better one; that at the onset of a
// black rendition is of that one, as the newest look has decoded it.
//
// The package is pure: the same steps give the same jobs. A worker that continues
// another one's watch captures nothing of a condition that was alerted before it began,
// except its recovery.
package capture
