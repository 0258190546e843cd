package dash

import "time"

// What an MPD may be at most. One that is more is malformed, or too_large when
// it is its bytes. Four hours of 5 s segments listed one by one for 15
// representations, as YouTube may do, are 43,000 elements and 2.6 MB.
//
// Of all MPDs within them that were tried, none had more than 14 MB of memory
// in use while it was read, beside its own bytes (TestHostileMPDsStayWithinMemory).
const (
	MaxBytes           = 4 << 20  // of an MPD, after any content-encoding
	MaxElements        = 200_000  // of any name
	MaxDepth           = 32       // of elements; MPDs need 7
	MaxTag             = 16 << 10 // bytes of one tag with its attributes
	MaxAttributes      = 64       // of one element
	MaxText            = 4 << 10  // bytes of one BaseURL or Location
	MaxPeriods         = 500      // in an MPD; four hours with an advertisement a minute
	MaxAdaptationSets  = 1_500    // in all Periods together
	MaxRepresentations = 3_000    // in all Periods together
	MaxDescriptions    = 20_000   // of all other elements that the library is given, but entries
	MaxEntries         = 40_000   // S and SegmentURL of the representation asked for, in all Periods
	MaxURL             = 4 << 10  // bytes of a segment's URL
	MaxWidth           = 20       // digits that a template may pad a number to
	MaxRangeEnd        = 1 << 50  // where a byte range ends, in bytes
	MaxTicks           = 1 << 61  // of a media time, in units of its timescale
	MinDuration        = time.Millisecond
	MaxDuration        = 24 * time.Hour             // of a segment
	MaxTime            = 100 * 365 * 24 * time.Hour // of a presentation; some count from 1970

	// KeptSegments is how many of the newest segments are reported: an hour of
	// 5 s segments. Only the last is analysed (section 6.1).
	KeptSegments = 720

	// DecodeTime is how long decoding may take. It is checked while scanning,
	// and the scan feeds the library.
	DecodeTime = 5 * time.Second
)

// How far clocks are believed.
const (
	// farOff is how far ahead of the clock a listed segment may begin before
	// the whole list is taken to be on another clock.
	farOff = time.Minute

	// sliver is what may remain of a Period after its last whole segment
	// without a segment of its own: durations are rounded.
	sliver = 50 * time.Millisecond
)
