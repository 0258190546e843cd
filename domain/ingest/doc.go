// Package ingest says what a source thinks of the signal that an encoder sends it, and which trouble of the stream that
// explains (decision S24).
//
//	broadcasts, signals ──▶ Match ──▶ Health of each stream ─┬─ Cause: why the stream is black, is silent or has no media
//	                                                         └─ NoData: live, and the encoder sends nothing
//
// A Health explains trouble. It opens no incident and ends none, but for NoData, which package watch alerts.
package ingest
