package livestream

import (
	"slices"
	"time"
)

// Program has the instants of a script for comparing packagings: black, and later silence. All are
// on frames, and none is on a boundary of segments. The segments with the returned sound are
// complete 6 s before the end, so a check finds them in time.
var Program = struct{ Black, Picture, Silence, Sound, End time.Duration }{
	Black:   30_400 * time.Millisecond,
	Picture: 40_400 * time.Millisecond,
	Silence: 45_600 * time.Millisecond,
	Sound:   54_600 * time.Millisecond,
	End:     62 * time.Second,
}

// ProgramLead is how much of the script has been broadcast when a viewer is to come. The picture goes black 13 s later.
const ProgramLead = 17 * time.Second

// Packaged is a stream that shows Program in a packaging, after what its Preroll says.
type Packaged struct {
	Name string
	Config
}

// Offset returns when an instant of Program is on the air, counted from the first frame.
func (p Packaged) Offset(instant time.Duration) time.Duration {
	if p.Packaging.Reconnect > 0 && instant >= p.Packaging.Reconnect {
		instant += p.Packaging.ReconnectGap
	}
	return p.Preroll + instant
}

// Events returns the types of the events of its watch, in order. The alert of a missing track comes at the start and is never
// resolved (decision S4).
func (p Packaged) Events() []string {
	black, silent := []string{"alert.blackout", "alert.blackout_recovered"}, []string{"alert.silence", "alert.silence_recovered"}
	switch r := p.Renditions[0]; {
	case len(p.Renditions) == 1 && !r.HasAudio():
		black, silent = silent[:1], black
	case len(p.Renditions) == 1 && !r.HasVideo():
		black = black[:1]
	}
	return slices.Concat([]string{"stream.started"}, black, silent, []string{"stream.ended"})
}

// Packagings lists streams that show Program, each in another packaging.
func Packagings() []Packaged {
	muxed, demuxed := []Rendition{Muxed144p}, []Rendition{Video144p, AudioOnly}
	all := []Packaged{
		{"muxed TS, segments of 1 s", Config{Segment: time.Second}},
		{"muxed TS, segments of 2 s", Config{}},
		{"muxed TS, segments of 5 s", Config{Segment: 5 * time.Second}},
		{"a window of 3 segments", Config{Window: 6 * time.Second}},
		{"a window of an hour", Config{Segment: time.Second, Window: time.Hour, Preroll: time.Hour}},
		{"a media playlist as entry", Config{Packaging: Packaging{MediaEntry: true}}},
		{"program times of every segment", Config{Packaging: Packaging{ProgramTime: DateTimePerSegment}}},
		{"no program time", Config{Segment: 5 * time.Second, Packaging: Packaging{ProgramTime: NoDateTime}}},
		{"TS byte ranges", Config{Packaging: Packaging{SingleFile: true}}},
		{"AES-128, one key", Config{Packaging: Packaging{Keys: OneKey}}},
		{"AES-128, rotating keys", Config{Packaging: Packaging{Keys: Rotating}}},
		{"fMP4", Config{Packaging: Packaging{Container: FMP4}}},
		{"fMP4 byte ranges", Config{Packaging: Packaging{Container: FMP4, SingleFile: true}}},
		{"demuxed TS", Config{Renditions: demuxed}},
		{"demuxed fMP4", Config{Renditions: demuxed, Packaging: Packaging{Container: FMP4}}},
		{"demuxed, packed AAC", Config{Renditions: demuxed, Packaging: Packaging{Container: Packed}}},
		{"gaps", Config{Packaging: Packaging{Gaps: []time.Duration{21 * time.Second, 35 * time.Second, 42 * time.Second, 51 * time.Second}}}},
		{"timestamps that jump back", Config{Packaging: Packaging{Reconnect: 36 * time.Second}}},
		{"timestamps that jump back without a discontinuity", Config{Packaging: Packaging{Reconnect: 44 * time.Second, NoDiscontinuity: true}}},
		{"an encoder that reconnects", Config{Packaging: Packaging{Reconnect: 44 * time.Second, ReconnectGap: 3 * time.Second}}},
		{"audio only", Config{Renditions: []Rendition{AudioOnly}}},
		{"video only", Config{Renditions: []Rendition{Video144p}}},
		{"DASH, SegmentTimeline and $Time$, ended by static", Config{Renditions: demuxed, Packaging: Packaging{DASH: TimelineTime}}},
		{"DASH, SegmentTimeline and $Number$, ended by its duration", Config{Renditions: demuxed, Packaging: Packaging{DASH: Timeline, EndsInMotion: true}}},
		{"DASH, duration and $Number$, ended by its duration", Config{Renditions: demuxed, Packaging: Packaging{DASH: Number, EndsInMotion: true}}},
		{"DASH, segments of 5 s, ended by static", Config{Renditions: demuxed, Segment: 5 * time.Second, Packaging: Packaging{DASH: Timeline}}},
		{"DASH muxed", Config{Packaging: Packaging{DASH: TimelineTime}}},
	}
	for i := range all {
		p := &all[i]
		if p.Renditions == nil {
			p.Renditions = muxed
		}
		p.Waits = true
		p.Script = []Cue{
			{At: p.Offset(Program.Black), Do: Black}, {At: p.Offset(Program.Picture), Do: Picture},
			{At: p.Offset(Program.Silence), Do: Silence}, {At: p.Offset(Program.Sound), Do: Sound},
			{At: p.Offset(Program.End), Do: End},
		}
	}
	return all
}
