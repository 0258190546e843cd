// Package dash reads MPEG-DASH MPDs (ISO/IEC 23009-1): asked for an MPD it
// answers with renditions, asked for one of them with its segments.
//
//	bytes ─▶ scan ────▶ sieve ──────▶ dash-mpd ───▶ presentation ─▶ watch.Playlist
//	         limits,     what is       numbers,      Periods, clock,
//	         well-formed asked about   structure     window, URLs
//
// MPDs come from outside and encoding/xml makes twenty bytes and more of some
// of theirs. So a scan of our own reads every byte first and refuses what
// breaks a limit (see the Max constants), and the sieve hands the library only
// the elements and attributes that matter: first without any list of segments,
// to choose representations; then, when segments are asked for, with the lists
// of the chosen ones alone. Repeated segments (S@r) are counted, never expanded.
//
// # Renditions
//
// A rendition's URL is that of the MPD (MPD@Location where it is stated, else
// where the MPD came from) with a fragment that names the representation:
//
//	https://example.com/live.mpd#bandwidth=128000&id=a1&kind=audio&lang=en
//
// Reading that URL later finds the representation of that kind and id. In a
// Period that does not have it, as when an advertisement is put in, it is the
// one of the same kind, then of the same language, not an alternate, and
// nearest in bandwidth; a muxed one will do where picture or sound is asked
// for. Where there is none of these, the URL has expired: the stream is to be
// resolved again (decision S7).
//
// Left out are encrypted representations, text, images, trick play, what the
// decoder has no demuxer for (WebM), and in a live MPD single files
// (SegmentBase). If nothing else is there, the failure says so.
//
// # Segments
//
// Segments are listed when they are complete: when their end has passed by the
// MPD's own clock (UTCTiming direct:2014), else by ours. A template without a
// SegmentTimeline names segments by the clock alone, so one segment more is
// kept back, for clocks that differ by less than that. A SegmentTimeline or
// SegmentList that the clock places far off is believed as it stands, without
// times; so is a live SegmentList of equal durations, which moves on without
// saying how far. availabilityTimeOffset and suggestedPresentationDelay are ignored:
// whole segments are used, and the newest of them. timeShiftBufferDepth bounds
// the window back from the newest segment, across Periods. Sequence is what the
// segment's URL is made of: $Number$, its place in a SegmentList, or $Time$; it
// grows within a Period.
//
// Nothing is fetched: remote elements (xlink) count with what they hold
// themselves. Refused as malformed: a DOCTYPE, $SubNumber$, duration patterns
// (S@p), S@n, and a live MPD without a usable segment. One that has ended is
// of type static, or its mediaPresentationDuration has passed.
package dash
