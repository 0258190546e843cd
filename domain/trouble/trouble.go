// Package trouble names the conditions of a stream: what an incident can be about.
package trouble

// Name identifies a condition. It is stored and shown, so it never changes.
type Name string

// The names. Those of further detectors are in detector.Table.
const (
	Late    Name = "late"     // the stream has not started in time (section 7.3)
	Black   Name = "black"    // its pictures are black (section 6.3)
	Silent  Name = "silent"   // its sound is silent (section 6.4)
	NoMedia Name = "no_media" // no new media for 60 s (section 6.6)
	Blind   Name = "blind"    // nothing can be learned of the stream (decision S15)
	Error   Name = "error"    // the monitor has ended with status error
)
