package dash

import "time"

// Limits of an MPD. One with more than MaxBytes is too_large, one beyond any other
// limit is malformed. Four hours of 5 s segments, listed one by one for 15
// representations as YouTube may do, are 43,000 elements and 2.6 MB.
//
// Reading an MPD within the limits takes at most 14 MB beside its own bytes, as far
// as tried (TestHostileMPDsStayWithinMemory).
const (
	MaxBytes           = 4 << 20  // of an MPD, after any content-encoding
	MaxElements        = 200_000  // of any name
	MaxDepth           = 32       // of nested elements; MPDs need 7
	MaxTag             = 16 << 10 // bytes of one tag with its attributes
	MaxAttributes      = 64       // of one element
	MaxText            = 4 << 10  // bytes of one BaseURL or Location
	MaxPeriods         = 500      // of an MPD; four hours with an advertisement a minute
	MaxAdaptationSets  = 1_500    // of all Periods together
	MaxRepresentations = 3_000    // of all Periods together
	MaxDescriptions    = 20_000   // other elements that the library gets, without entries
	MaxEntries         = 40_000   // S and SegmentURL elements of the selected representation, in all Periods
	MaxURL             = 4 << 10  // bytes of a segment's URL
	MaxWidth           = 20       // digits to which a template may pad a number
	MaxRangeEnd        = 1 << 50  // end of a byte range, in bytes
	MaxTicks           = 1 << 61  // of a media time, in units of its timescale
	MinDuration        = time.Millisecond
	MaxDuration        = 24 * time.Hour             // of a segment
	MaxTime            = 100 * 365 * 24 * time.Hour // of a presentation; some count from 1970

	// KeptSegments limits how many of the newest segments are reported: an hour of
	// 5 s segments. Only the last is analysed (section 6.1).
	KeptSegments = 720

	// DecodeTime limits how long decoding takes. It is checked while scanning,
	// and the library reads only what was scanned.
	DecodeTime = 5 * time.Second
)

// Tolerances for the times of an MPD.
const (
	// maxBases is how many BaseURLs are tried for a segment.
	maxBases = 3

	// maxLead is how far ahead of the clock a SegmentTimeline may be: the clock of this
	// machine, or of the packager, may be wrong. One that begins later uses another clock, and
	// one that ends later announces segments that do not exist yet.
	maxLead = 10 * time.Minute

	// minRemainder is the shortest rest of a Period that has a segment of its own.
	// A shorter rest comes from rounded durations.
	minRemainder = 50 * time.Millisecond
)
