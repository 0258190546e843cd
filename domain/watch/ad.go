package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Advertisements of a site take the place of the broadcaster's media (Segment.Ad). Time in them is neither good nor
// bad: it is in no duration, it ends nothing, and it is no failure. The playlist moves meanwhile.

// maxAds is the longest break for advertisements. Segments marked beyond it are judged as the broadcaster's media: no
// blackout may hide behind marks that a site forgets to end.
const maxAds = 10 * time.Minute

// limitAds returns the segments of a reading with maxAds applied.
func (p playlists) limitAds(f *mediaFeed, segments []Segment) []Segment {
	since, limited := f.AdsSince, segments
	if slices.ContainsFunc(segments, func(s Segment) bool { return s.Ad }) {
		limited = slices.Clone(segments)
	}
	for i, s := range segments {
		switch {
		case !s.Ad:
			since = time.Time{}
		case since.IsZero():
			since = s.ProgramTime
		default:
			limited[i].Ad = s.ProgramTime.Sub(since) < maxAds
		}
	}
	if !since.Equal(f.AdsSince) {
		f.AdsSince = since
		p.revise()
	}
	return limited
}

// toAnalyse returns the newest segment that may be analysed: of the broadcaster, and if an advertisement follows it,
// not judged before.
func (p playlists) toAnalyse(f *mediaFeed) (s Segment, ok bool) {
	ads := false
	for _, s := range slices.Backward(f.listing.segments) {
		if s.Ad {
			ads = true
			continue
		}
		ok = !ads
		for d := range p.rules.running(f.Tracks) {
			c := p.state.Conditions.of(d)
			ok = ok || !c.Seen || !s.ProgramTime.Before(c.JudgedUntil.Add(-boundaryTolerance))
		}
		return s, ok
	}
	return Segment{}, false
}

// endsWithAd reports whether the newest segment is an advertisement.
func (l listing) endsWithAd() bool {
	last, ok := l.last()
	return ok && last.Ad
}

// passAds passes the advertisements that begin before a time; zero: all that are listed.
func (a analyses) passAds(f *mediaFeed, until time.Time) {
	for _, s := range f.listing.segments {
		if !s.Ad || !until.IsZero() && !s.ProgramTime.Before(until) {
			continue
		}
		for d := range a.rules.running(f.Tracks) {
			a.state.Conditions.of(d).pass(s.ProgramTime, s.End(), &a.emitter)
		}
	}
}

// pass passes a time that is neither good nor bad. A condition that is only suspected begins later by as much.
func (c *condition) pass(from, to time.Time, e *emitter) {
	from = instant.Latest(from, c.JudgedUntil)
	if !c.Seen || !to.After(from) {
		return
	}
	switch {
	case c.Open:
		c.Blind += to.Sub(from)
		e.revise()
	case !c.Since.IsZero():
		c.Since = c.Since.Add(to.Sub(from))
	}
	c.JudgedUntil = to
}

// passAd lets an outage wait for the broadcaster's media: the time since the last reading is not in it.
func (o *outage) passAd(now, lastRead time.Time) {
	if !o.open() {
		return
	}
	if !o.Alerted {
		o.Unwatched += now.Sub(instant.Latest(lastRead, o.Since))
	}
	o.RetryAt = now.Add(playlistBackoff.First)
}
