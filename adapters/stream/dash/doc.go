// Package dash decodes MPEG-DASH MPDs (ISO/IEC 23009-1): an MPD into renditions, and
// one of its representations into segments.
//
//	bytes ─▶ scan ────▶ filter ─────▶ dash-mpd ───▶ presentation ─▶ watch.Playlist
//	         limits,     used          numbers,      Periods, clock,
//	         well-formed elements      structure     window, URLs
//
// MPDs are untrusted, and encoding/xml needs 20 bytes of memory and more for a byte
// of some. So this package scans every byte first, enforces the Max limits, and gives
// the library only the elements and attributes that are used. A first pass leaves out
// all lists of segments; a second one has those of the chosen representation.
// Repeated segments (S@r) are counted, never expanded. Nothing is fetched: remote
// elements (xlink) count with their own contents.
//
// # Renditions
//
// The URL of a rendition is that of the MPD (MPD@Location if stated) with a fragment
// that names the representation:
//
//	https://example.com/live.mpd#bandwidth=128000&id=a1&kind=audio&lang=en
//
// A Period without that representation uses the nearest one of the same kind: by
// id, then language, then not an alternate, then bandwidth. Without one, the URL has
// expired (decision S7). Left out are encrypted representations, images, trick play,
// WebM, single files (SegmentBase) of a live MPD, and text but for the main captions.
//
// # Segments
//
// The time is that of the MPD's UTCTiming (direct, http-head, http-xsdate, http-iso), else that
// of the server that sent the MPD, else Format.Now. Segments in a SegmentTimeline are available;
// UTCTiming alone shows that some are announced, and these are left out. A SegmentTemplate without
// SegmentTimeline depends on the time alone, so its newest segment is withheld. A
// SegmentTimeline more than maxLead ahead of the time, and a live SegmentList of equal durations, are
// used without times. timeShiftBufferDepth bounds the list across Periods;
// availabilityTimeOffset and suggestedPresentationDelay are ignored. Sequence is the
// number of a segment, or $Time$ without $Number$; it grows within a Period.
//
// A segment lists what the first three BaseURLs of each level make of its URL; the later ones
// are its Mirrors.
//
// # Odd entries
//
// An S, SegmentURL, BaseURL or Period that cannot be used is left out, and the rest is used. An S
// that is left out keeps its numbers. Of two S or Periods that contradict each other, the later one is
// used. A number that cannot be read makes its element unusable, or counts as not
// stated. Playlist.Defect names the first of them.
//
// Refused as malformed: a DOCTYPE, $SubNumber$, and a live MPD without a
// usable segment. An MPD has ended if it is static or mediaPresentationDuration is over.
package dash
