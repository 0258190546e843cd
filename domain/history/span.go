package history

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Lane is one thing whose state is kept over time.
type Lane string

// The lanes of a monitor.
const (
	Stream   Lane = "stream"
	Video    Lane = "video"
	Audio    Lane = "audio"
	Segments Lane = "segments"
)

// Lanes lists every lane.
func Lanes() []Lane { return []Lane{Stream, Video, Audio, Segments} }

// State is the state of a lane. Video and audio have Unknown, OK and the conditions
// of the detectors of their track.
type State string

// The states of section 16.3.
const (
	Unknown  State = "unknown"  // nobody looked, or nothing could be seen
	None     State = "none"     // video: no picture is expected
	OK       State = "ok"       // video, audio, segments
	Live     State = "live"     // stream
	Upcoming State = "upcoming" // stream
	Late     State = "late"     // stream: upcoming beyond its scheduled start and tolerance
	Blind    State = "blind"    // stream: nothing can be learned (decision S15)
	NoMedia  State = "no_media" // segments: an outage that was alerted (section 6.6)
	Paused   State = "paused"   // every lane: nobody was to look (section 16.9)
)

// Trouble reports whether the state is neither good nor unknown.
func (s State) Trouble() bool { return s.severity() == 2 }

func (s State) severity() int {
	switch s {
	case OK, None, Live, Upcoming, Paused:
		return 0
	case Unknown:
		return 1
	}
	return 2
}

// Span is a time in which a lane had one state: From until To, without To.
type Span struct {
	Lane     Lane
	State    State
	From, To time.Time
}

// Open is the present state of a lane.
type Open struct {
	State State
	Since time.Time
}

// Current has the open span of each lane of one monitor.
type Current struct {
	Lanes map[Lane]Open // empty: no report was accepted yet, or the monitor has ended
	Seen  time.Time     // of the newest accepted report; zero: none

	// PausedUntil is the end of the newest pause, which may have passed; zero: nobody has ever paused it.
	PausedUntil time.Time
}

// knownUntil returns until when an open span is known at a time. Reports prove it, each for MaxGap; a pause needs none.
func (c Current) knownUntil(open Open, at time.Time) time.Time {
	known := c.Seen
	if open.State == Paused {
		known = instant.Latest(known, c.PausedUntil)
	}
	if at.Sub(known) > MaxGap {
		return instant.Latest(open.Since, known)
	}
	return at
}

// MaxGap is the longest time between two accepted reports in which a lane keeps its
// state. A worker reports every 10 s.
const MaxGap = 90 * time.Second

// Observe returns what follows from an accepted report: the lanes' states after it,
// and the spans that it closes. A report that ends the monitor closes all. Times never
// decrease, even if the worker's clock is set back.
func Observe(before Current, r monitor.Report) (after Current, closed []Span) {
	at := r.At
	if at.Before(before.Seen) {
		at = before.Seen
	}
	after = Current{Lanes: map[Lane]Open{}, Seen: at}
	for _, lane := range Lanes() {
		open, known := before.Lanes[lane]
		if until := before.knownUntil(open, at); known && open.State != Unknown && until.Before(at) {
			closed = appendSpan(closed, lane, open.State, open.Since, until)
			open = Open{Unknown, until}
		}
		wasPaused := open.State == Paused
		for _, c := range changesOf(lane, before, after, r) {
			switch {
			case !known:
				open, known = Open{c.state, at}, true
			case open.State != c.state:
				begin := instant.Latest(open.Since, at)              // a gateway's clock may have begun it
				if !c.at.IsZero() && c.at.Before(at) && !wasPaused { // what was known before a pause says nothing of it
					begin = instant.Latest(open.Since, c.at)
				}
				closed = appendSpan(closed, lane, open.State, open.Since, begin)
				open = Open{c.state, begin}
			}
		}
		after.Lanes[lane] = open
	}
	if !r.Status.Active() && r.Status != "" {
		closed = append(closed, Close(after, at)...)
		after.Lanes = map[Lane]Open{}
	}
	return after, closed
}

// Close returns the open spans as they are at the time until: the present, or the end
// of the monitor. Time without reports at their end is unknown.
func Close(c Current, until time.Time) (spans []Span) {
	for _, lane := range Lanes() {
		open, known := c.Lanes[lane]
		if !known {
			continue
		}
		seen := c.knownUntil(open, until)
		spans = appendSpan(spans, lane, open.State, open.Since, seen)
		spans = appendSpan(spans, lane, Unknown, seen, until)
	}
	return spans
}

// change is the beginning of a state; at is zero if it is the time of the report.
type change struct {
	state State
	at    time.Time
}

// changesOf returns the states that a report gives to a lane, the present one last. after
// has the lanes that come before it in Lanes.
func changesOf(lane Lane, before, after Current, r monitor.Report) []change {
	if r.Paused {
		return []change{{state: Paused}}
	}
	switch lane {
	case Stream:
		return streamChanges(before, r)
	case Video:
		return []change{trackChange(r.Health.Video, r)}
	case Audio:
		return []change{trackChange(r.Health.Audio, r)}
	default:
		return segmentChanges(before, after, r)
	}
}

func streamChanges(before Current, r monitor.Report) []change {
	if v := r.Visibility; v != nil && !v.BlindSince.IsZero() {
		return []change{{Blind, v.BlindSince}}
	}
	good := change{state: streamState(before, r)}
	if good.state == Unknown && r.Visibility != nil {
		good.at = r.Visibility.LastObservedAt // the blindness that may follow began then
	}
	if i := lastEndOfLate(r); i >= 0 && good.state == Upcoming {
		good.at = r.Signals[i].EndedAt
	}
	return signalled(trouble.Blind, Blind, r.Signals, good)
}

// lastEndOfLate returns the index of the last signal that a late start was moved; -1: none.
func lastEndOfLate(r monitor.Report) int {
	last := -1
	for i, s := range r.Signals {
		if s.Condition == trouble.Late && !s.EndedAt.IsZero() {
			last = i
		}
	}
	return last
}

// streamState returns the state of the stream while it can be observed.
func streamState(before Current, r monitor.Report) State {
	if r.StreamStatus == monitor.StreamLive {
		return Live
	}
	late, moved := before.Lanes[Stream].State == Late, lastEndOfLate(r)
	if moved >= 0 {
		late = false
	}
	late = late || slices.ContainsFunc(r.Events, func(e event.Event) bool {
		return e.Type == event.StreamDelayed && (moved < 0 || e.At.After(r.Signals[moved].EndedAt))
	})
	switch {
	case r.Status == monitor.Waiting && late:
		return Late
	case r.StreamStatus == monitor.StreamUpcoming:
		return Upcoming
	}
	return Unknown
}

// trackChange returns the present state of a track. It is unknown since anything of the
// stream was last learned, at the earliest: so no time is both blind and good.
func trackChange(h monitor.TrackHealth, r monitor.Report) change {
	if h != "" && h != monitor.Unknown {
		return change{state: State(h)}
	}
	if r.Visibility == nil {
		return change{state: Unknown}
	}
	return change{Unknown, r.Visibility.LastObservedAt}
}

// segmentChanges follows the signals of outages. While none is alerted, segments are
// good as long as anything is known of picture or sound. While one is, one of the two is
// unknown, so an outage whose end was not signalled is over since both are known.
func segmentChanges(before, after Current, r monitor.Report) []change {
	if r.Status != monitor.Monitoring {
		return []change{{state: Unknown}}
	}
	if v := r.Visibility; v != nil && !v.BlindSince.IsZero() {
		return []change{{Unknown, v.BlindSince}} // no time is both blind and watched
	}
	outage, isSignalled := before.Lanes[Segments].State == NoMedia, false
	for _, s := range r.Signals {
		if s.Condition == trouble.NoMedia {
			outage, isSignalled = s.EndedAt.IsZero(), true
		}
	}
	video, audio := after.Lanes[Video], after.Lanes[Audio]
	if outage && !isSignalled && video.State != Unknown && audio.State != Unknown {
		return []change{{OK, instant.Latest(video.Since, audio.Since)}}
	}
	present := change{state: OK}
	switch {
	case outage:
		present.state = NoMedia
	case (video.State == Unknown || video.State == None) && audio.State == Unknown:
		present = change{Unknown, instant.Latest(video.Since, audio.Since)}
	}
	return signalled(trouble.NoMedia, NoMedia, r.Signals, present)
}

// signalled returns the changes that the signals of a condition give, and the present
// state.
func signalled(condition trouble.Name, state State, signals []monitor.Signal, present change) (changes []change) {
	for _, s := range signals {
		switch {
		case s.Condition != condition:
		case s.EndedAt.IsZero():
			changes = append(changes, change{state, s.StartedAt})
		default:
			changes = append(changes, change{present.state, s.EndedAt})
		}
	}
	return append(changes, present)
}

// resolution is that of the stored times.
const resolution = time.Microsecond

// appendSpan appends a span unless it is empty once it is stored. One of less than the
// resolution would take the place of the span that begins where it ends.
func appendSpan(spans []Span, lane Lane, state State, from, to time.Time) []Span {
	if to.Sub(from) < resolution {
		return spans
	}
	return append(spans, Span{lane, state, from, to})
}
