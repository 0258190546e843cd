package dash

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// presentation is an MPD whose Periods have start and end times. These times count
// from availabilityStartTime.
type presentation struct {
	mpd               *mpd.MPD
	source            *url.URL   // the URL from which the MPD came
	bases             []*url.URL // for relative references, in the order in which they are tried; at least one
	live              bool       // MPD@type is dynamic
	availabilityStart time.Time  // availabilityStartTime; zero: not stated
	now               time.Duration
	clock             clockKind     // of now
	periods           []timedPeriod // that have begun, oldest first
	defect            string        // the first entry that was left out or repaired
}

// timedPeriod is a Period with its start and end.
type timedPeriod struct {
	*mpd.Period

	index      int // in the MPD
	start, end time.Duration
	bases      []*url.URL
}

// noEnd is the end of a Period without a known end.
const noEnd = time.Duration(math.MaxInt64)

// newPresentation gives the Periods of d their times. Its errors are *watch.Failure.
func newPresentation(d document, source *url.URL, now time.Time, clock clockKind) (*presentation, error) {
	m := d.mpd
	p := &presentation{mpd: m, source: source, clock: clock, defect: d.defect, live: m.Type != nil && *m.Type == mpd.DYNAMIC_TYPE}
	if m.Type != nil && *m.Type != mpd.DYNAMIC_TYPE && *m.Type != mpd.STATIC_TYPE {
		return nil, malformed("MPD@type is neither static nor dynamic")
	}
	p.availabilityStart = parseTime(string(m.AvailabilityStartTime))
	if p.hasClock() {
		p.now = now.Sub(p.availabilityStart)
	}
	var err error
	p.bases = p.resolveBaseURLs([]*url.URL{source}, m.BaseURL)
	if len(m.Periods) == 0 {
		return nil, malformed("%s", cmp.Or(p.defect, "an MPD without a Period"))
	}
	if p.periods, err = p.timedPeriods(); err != nil {
		return nil, err
	}
	if p.live && p.hasClock() {
		begun := p.periods[:0]
		for _, period := range p.periods {
			if period.start <= p.now {
				begun = append(begun, period)
			}
		}
		if first := p.periods[0]; len(begun) == 0 && clock == hostClock && first.start-p.now <= maxLead {
			begun = append(begun, first) // this machine's clock may be slow
		}
		if len(begun) == 0 {
			start := p.availabilityStart.Add(p.periods[0].start).Format(time.RFC3339)
			return nil, malformed("its first Period begins at %s", start)
		}
		p.periods = begun
	}
	return p, nil
}

// hasClock reports whether the times of the presentation have a place on the clock.
func (p *presentation) hasClock() bool { return !p.availabilityStart.IsZero() }

// timedPeriods returns the Periods with their starts and ends (ISO/IEC 23009-1,
// 5.3.2.1). It drops an announced Period, which has no start yet.
func (p *presentation) timedPeriods() ([]timedPeriod, error) {
	var all []timedPeriod
	previousEnd, known := time.Duration(0), true
	for i, raw := range p.mpd.Periods {
		period := timedPeriod{Period: raw, index: i, start: previousEnd, end: noEnd}
		switch {
		case raw.Start != nil:
			period.start = roundedDuration(raw.Start)
		case !known:
			if !p.live {
				p.note("a Period without a start after one without a duration")
			}
			continue
		}
		for len(all) > 0 && period.start < all[len(all)-1].start {
			p.note("its Periods are not in order")
			all = all[:len(all)-1] // the later one in the MPD is what is sent now
		}
		if n := len(all); n > 0 {
			all[n-1].end = min(all[n-1].end, period.start)
		}
		period.bases = p.resolveBaseURLs(p.bases, raw.BaseURLs)
		if d := roundedDuration(raw.Duration); d > 0 {
			period.end = period.start + d
		}
		previousEnd, known = period.end, period.end != noEnd
		all = append(all, period)
	}
	if len(all) == 0 {
		return nil, malformed("none of its Periods has begun")
	}
	if last := &all[len(all)-1]; p.duration() > last.start {
		last.end = min(last.end, p.duration())
	}
	return all, nil
}

// duration returns mediaPresentationDuration, or 0 if it is not stated.
func (p *presentation) duration() time.Duration {
	return roundedDuration(p.mpd.MediaPresentationDuration)
}

// ended reports whether no segments will be added. The host's clock may be fast, so a stream
// ends by it only once that explains nothing any more.
func (p *presentation) ended() bool {
	now := p.now
	if p.clock == hostClock {
		now -= maxLead
	}
	return !p.live || p.hasClock() && p.duration() > 0 && now >= p.duration()
}

// updateURL returns the URL of the next version of the MPD.
func (p *presentation) updateURL() string {
	for _, l := range p.mpd.Location {
		if u, ok := resolve(p.source, l.Value); ok {
			return u.String()
		}
	}
	u := *p.source
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// note remembers the problem of an entry that was left out or repaired, if it is the first.
func (p *presentation) note(problem string) { p.defect = cmp.Or(p.defect, problem) }

// resolveBaseURLs returns at most maxBases BaseURLs of a level, in the order in which they are
// tried. Each is relative to every one of the level above. Without a usable one it returns
// those of the level above.
func (p *presentation) resolveBaseURLs(above []*url.URL, urls []*mpd.BaseURLType) (bases []*url.URL) {
	for _, b := range urls {
		for _, parent := range above {
			u, ok := resolve(parent, string(b.Value))
			if !ok {
				p.note("a BaseURL is not an http or https URL")
			}
			known := slices.ContainsFunc(bases, func(other *url.URL) bool { return ok && other.String() == u.String() })
			if ok && !known && len(bases) < maxBases {
				bases = append(bases, u)
			}
		}
	}
	if len(bases) == 0 {
		return above
	}
	return bases
}
