package dash

import (
	"math"
	"net/url"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// presentation is an MPD with its Periods on a clock. Times in it count from
// availabilityStartTime.
type presentation struct {
	mpd     *mpd.MPD
	from    *url.URL  // where the MPD came from
	base    *url.URL  // what its references are relative to
	live    bool      // of type dynamic
	epoch   time.Time // availabilityStartTime; zero: not stated
	now     time.Duration
	periods []period // that have begun, oldest first
}

// period is a Period with its place in time.
type period struct {
	*mpd.Period

	index      int // among all in the MPD
	start, end time.Duration
	base       *url.URL
}

// forever is the end of what has none.
const forever = time.Duration(math.MaxInt64)

// newPresentation puts m on the clock. Its errors are *watch.Failure.
func newPresentation(m *mpd.MPD, from *url.URL, now time.Time) (*presentation, error) {
	p := &presentation{mpd: m, from: from, live: m.Type != nil && *m.Type == mpd.DYNAMIC_TYPE}
	if m.Type != nil && *m.Type != mpd.DYNAMIC_TYPE && *m.Type != mpd.STATIC_TYPE {
		return nil, malformed("MPD@type is neither static nor dynamic")
	}
	p.epoch = parseTime(string(m.AvailabilityStartTime))
	if p.timed() {
		p.now = serverTime(m, now).Sub(p.epoch)
	}
	var err error
	if p.base, err = rebase(from, m.BaseURL); err != nil {
		return nil, err
	}
	if len(m.Periods) == 0 {
		return nil, malformed("an MPD without a Period")
	}
	if p.periods, err = p.placed(); err != nil {
		return nil, err
	}
	if p.live && p.timed() {
		begun := p.periods[:0]
		for _, one := range p.periods {
			if one.start <= p.now {
				begun = append(begun, one)
			}
		}
		if len(begun) == 0 {
			at := p.epoch.Add(p.periods[0].start).Format(time.RFC3339)
			return nil, malformed("nothing of it is there before %s", at)
		}
		p.periods = begun
	}
	return p, nil
}

// timed tells whether the times of the presentation can be told by a clock.
func (p *presentation) timed() bool { return !p.epoch.IsZero() }

// serverTime is what the MPD says the time is when it is read, else now.
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

// placed gives the Periods their starts and ends (ISO/IEC 23009-1, 5.3.2.1).
// One that is announced without a start has none of its content yet.
func (p *presentation) placed() ([]period, error) {
	var all []period
	next, known := time.Duration(0), true // where the one before ends
	for i, raw := range p.mpd.Periods {
		one := period{Period: raw, index: i, start: next, end: forever}
		switch {
		case raw.Start != nil:
			one.start = exact(raw.Start)
		case !known && p.live:
			continue
		case !known:
			return nil, malformed("a Period of which it is not said when it begins")
		}
		if n := len(all); n > 0 {
			before := &all[n-1]
			if one.start < before.start {
				return nil, malformed("its Periods are not in order")
			}
			before.end = min(before.end, one.start)
		}
		var err error
		if one.base, err = rebase(p.base, raw.BaseURLs); err != nil {
			return nil, err
		}
		if length := exact(raw.Duration); length > 0 {
			one.end = one.start + length
		}
		next, known = one.end, one.end != forever
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, malformed("none of its Periods has begun")
	}
	if last := &all[len(all)-1]; p.length() > last.start {
		last.end = min(last.end, p.length())
	}
	return all, nil
}

// length is how long the whole presentation is; 0: not stated.
func (p *presentation) length() time.Duration { return exact(p.mpd.MediaPresentationDuration) }

// ended tells whether nothing is going to be added.
func (p *presentation) ended() bool {
	return !p.live || p.timed() && p.length() > 0 && p.now >= p.length()
}

// address is where the next version of the MPD is to be had.
func (p *presentation) address() string {
	for _, l := range p.mpd.Location {
		if u, ok := resolve(p.from, l.Value); ok {
			return u.String()
		}
	}
	u := *p.from
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// rebase applies the first BaseURL of a level that can be fetched from.
func rebase(base *url.URL, urls []*mpd.BaseURLType) (*url.URL, error) {
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
