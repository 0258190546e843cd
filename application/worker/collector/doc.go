// Package collector takes the evidence that domain/capture plans: it fetches media, takes
// pictures, measures sound, makes clips and uploads them (section 16.2).
//
//	watch loop ── capture.Job ──▶ queue ──▶ one goroutine ── files ──▶ Store
//	analysis ──── segments ─────▶ Keep ──────▶│ Fetcher, Playlists, Tools
//	                                          └ temporary files without a name
//
//	record: capturedMedia ──▶ pictures, soundLevels, clipMaker ──▶ files ──▶ uploads
//	        └──────────── defects: what is missing, and why ─────────┘
//
// Guarantees:
//
//   - Add never blocks. At most one job runs; at most maxQueue wait. If there are more,
//     the oldest collection or report is dropped, then the oldest job. A capture that loses
//     its last job leaves a note.
//   - Nothing is uploaded before Config.Reported has returned, so the alert is stored
//     first. A failure costs a log line and a note in the record, never an alert.
//   - Jobs go before uploads, so a gateway that is away delays no capture.
//   - The media of a capture are on disk, at most maxMedia bytes for each track. Of what
//     analysis fetched last, maxKept bytes are in memory. Pictures are in memory, at most
//     512 KiB each.
//   - A file is uploaded again until the gateway takes it, for keepFiles at most. Then a
//     note takes its place, which waits until the worker ends. An upload that is repeated
//     changes nothing.
//   - Stop waits for its limit and then cancels what runs. No goroutine, process or
//     file is left behind.
package collector
