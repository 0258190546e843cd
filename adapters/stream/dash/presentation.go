package dash

import (
	"math"
	"net/url"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// presentation is an MPD whose Periods have start and end times. These times count
// from availabilityStartTime.
type presentation struct {
	mpd               *mpd.MPD
	source            *url.URL  // the URL from which the MPD came
	base              *url.URL  // for relative references
	live              bool      // MPD@type is dynamic
	availabilityStart time.Time // availabilityStartTime; zero: not stated
	now               time.Duration
	periods           []timedPeriod // that have begun, oldest first
}

// timedPeriod is a Period with its start and end.
type timedPeriod struct {
	*mpd.Period

	index      int // in the MPD
	start, end time.Duration
	base       *url.URL
}

// noEnd is the end of a Period without a known end.
const noEnd = time.Duration(math.MaxInt64)

// newPresentation gives the Periods of m their times. Its errors are *watch.Failure.
func newPresentation(m *mpd.MPD, source *url.URL, now time.Time) (*presentation, error) {
	p := &presentation{mpd: m, source: source, live: m.Type != nil && *m.Type == mpd.DYNAMIC_TYPE}
	if m.Type != nil && *m.Type != mpd.DYNAMIC_TYPE && *m.Type != mpd.STATIC_TYPE {
		return nil, malformed("MPD@type is neither static nor dynamic")
	}
	p.availabilityStart = parseTime(string(m.AvailabilityStartTime))
	if p.hasClock() {
		p.now = serverTime(m, now).Sub(p.availabilityStart)
	}
	var err error
	if p.base, err = resolveBaseURL(source, m.BaseURL); err != nil {
		return nil, err
	}
	if len(m.Periods) == 0 {
		return nil, malformed("an MPD without a Period")
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

// serverTime returns the time that the MPD states (UTCTiming direct:2014), or now.
func serverTime(m *mpd.MPD, now time.Time) time.Time {
	for _, timing := range m.UTCTimings {
		if timing.SchemeIdUri == "urn:mpeg:dash:utc:direct:2014" {
			if t := parseTime(timing.Value); !t.IsZero() {
				return t
			}
		}
	}
	return now
}

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
		case !known && p.live:
			continue
		case !known:
			return nil, malformed("a Period without a start after one without a duration")
		}
		if n := len(all); n > 0 {
			previous := &all[n-1]
			if period.start < previous.start {
				return nil, malformed("its Periods are not in order")
			}
			previous.end = min(previous.end, period.start)
		}
		var err error
		if period.base, err = resolveBaseURL(p.base, raw.BaseURLs); err != nil {
			return nil, err
		}
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

// ended reports whether no segments will be added.
func (p *presentation) ended() bool {
	return !p.live || p.hasClock() && p.duration() > 0 && p.now >= p.duration()
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

// resolveBaseURL returns the first BaseURL of a level that is an http or https URL.
// Without BaseURLs it returns base.
func resolveBaseURL(base *url.URL, urls []*mpd.BaseURLType) (*url.URL, error) {
	for _, b := range urls {
		if u, ok := resolve(base, string(b.Value)); ok {
			return u, nil
		}
	}
	if len(urls) > 0 {
		return nil, malformed("a BaseURL that is not an http or https URL")
	}
	return base, nil
}
