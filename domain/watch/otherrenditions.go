package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// otherRenditions are the renditions of the stream beside the watched one (decision S22). While a detector
// judges them, one of them is looked at each interval, in a lane of its own, in turn; and any one that is not
// known to be good is looked at again an interval later. A look changes no feed, no outage and no
// blindness. Times are the clock's.
//
//	look ──▶ found ──the next sample of the watched picture──▶ State, Looks ──▶ detector.Sample
type otherRenditions struct {
	ListURL string            `json:"list_url,omitempty"` // of the master playlist or MPD, which is read each interval; empty: none is known
	Egress  string            `json:"egress,omitempty"`   // the address to which the URLs are bound
	Header  *RequestHeader    `json:"header,omitempty"`   // that requests for the URLs carry
	ReadAt  time.Time         `json:"read_at,omitzero"`   // when the last reading of the list began
	TurnAt  time.Time         `json:"turn_at,omitzero"`   // when the next one is looked at in its turn
	All     []*otherRendition `json:"all,omitempty"`      // the largest first, at most maxOtherRenditions that are listed
	Watched []quality         `json:"watched,omitempty"`  // the newest two that were watched, and decoded
}

// otherRendition is one of them.
type otherRendition struct {
	URL       string                  `json:"url,omitempty"` // of its media playlist; empty: it is gone
	Height    int                     `json:"height,omitempty"`
	Bandwidth int                     `json:"bandwidth,omitempty"` // bits per second
	State     detector.RenditionState `json:"state"`               // by the newest look
	Looks     int                     `json:"looks,omitempty"`     // see detector.Rendition
	Since     time.Time               `json:"since,omitzero"`      // when the first of Looks began
	LookedAt  time.Time               `json:"looked_at,omitzero"`  // when the newest look began; zero: there was none

	Newest   identity      `json:"newest,omitzero"`    // segment of its playlist
	MovedAt  time.Time     `json:"moved_at,omitzero"`  // when the first look that saw Newest began
	Lag      time.Duration `json:"lag,omitempty"`      // of its end behind that of the watched rendition
	Stands   bool          `json:"stands,omitempty"`   // the newest look found that the playlist stands still
	Readable bool          `json:"readable,omitempty"` // a segment of it has been decoded

	found   detector.RenditionState // by a look that waits for a sample of the watched picture; empty: none waits
	foundAt time.Time               // when that look ended
	decoded *Segment                // see OtherRendition.Segment
	shows   time.Duration           // see OtherRendition.Shows
}

// renditionInterval returns the time between two looks at other renditions: maxRenditionInterval, or the
// threshold of the detector that judges them if that is shorter; 0: none does.
func (r Rules) renditionInterval() (interval time.Duration) {
	for d := range r.running(trackSet{Video: true}) {
		if d.JudgesRenditions() {
			interval = min(maxRenditionInterval, r.threshold(d))
		}
	}
	return interval
}

// renditionTask returns the next look at another rendition, or the next reading of their list. It returns ok false
// before the watched picture has been read, and in an outage of it: a look could not be compared.
func (p planner) renditionTask() (next Task, ok bool) {
	interval, picture, others := p.rules.renditionInterval(), p.state.Feeds.picture(), &p.state.Others
	if interval == 0 || !p.state.monitoring() || picture == nil || len(picture.listing.segments) == 0 || picture.Outage.open() {
		return Task{}, false
	}
	consider := func(at time.Time, url string) {
		if !ok || at.Before(next.At) {
			next, ok = Task{Kind: TaskRendition, At: at, URL: url, Egress: others.Egress, Header: others.Header}, true
		}
	}
	if others.ListURL != "" {
		consider(others.ReadAt.Add(interval), others.ListURL)
	}
	var inTurn *otherRendition
	for _, r := range others.All {
		switch {
		case r.URL == "":
		case r.soon(p.now):
			consider(r.LookedAt.Add(interval), r.URL)
		case inTurn == nil || r.LookedAt.Before(inTurn.LookedAt):
			inTurn = r
		}
	}
	if inTurn != nil {
		consider(instant.Latest(others.TurnAt, inTurn.LookedAt.Add(interval)), inTurn.URL)
	}
	return next, ok
}

// soon reports whether the rendition is looked at each interval instead of in its turn: until EnoughLooks
// have found it good, but for recoveryLooks at most.
func (r *otherRendition) soon(now time.Time) bool {
	return r.Looks > 0 && (r.State.Bad() || r.Looks < detector.EnoughLooks) && now.Sub(r.Since) < recoveryLooks
}

// picture returns the feed by which the picture is judged; nil: no feed carries one.
func (all mediaFeeds) picture() *mediaFeed {
	if i := slices.IndexFunc(all, func(f *mediaFeed) bool { return f.Tracks.Video }); i >= 0 {
		return all[i]
	}
	return nil
}

// otherRenditionLooks handles looks at other renditions.
type otherRenditionLooks struct{ *stream }

// record takes the state that a look has found.
func (r *otherRendition) record(s detector.RenditionState, e *emitter) {
	looks := detector.EnoughLooks
	switch {
	case s == detector.RenditionUnknown:
		looks = 0
	case r.Looks == 0 || s.Bad() != r.State.Bad():
		looks, r.Since = 1, r.LookedAt
	}
	if s != r.State || looks != r.Looks {
		e.revise()
	}
	r.State, r.Looks, r.found = s, looks, ""
	r.Readable = r.Readable || s == detector.RenditionOK || s == detector.RenditionBlack
}

// follow forgets the renditions when nobody judges them, but not where they are listed, and the one that is watched now. An outage of
// the watched picture makes what waits unknown, and one of outageLimit all states.
func (o otherRenditionLooks) follow() {
	others, picture := &o.state.Others, o.state.Feeds.picture()
	switch {
	case picture == nil:
		if others.ListURL != "" || len(others.All) > 0 {
			o.revise()
		}
		*others = otherRenditions{}
		return
	case o.rules.renditionInterval() == 0:
		if len(others.All) > 0 {
			o.revise()
		}
		*others = otherRenditions{ListURL: others.ListURL, Egress: others.Egress, Header: others.Header}
		return
	}
	n := len(others.All)
	others.All = slices.DeleteFunc(others.All, func(r *otherRendition) bool {
		return r.URL != "" && r.URL == picture.URL || r.Height == picture.Quality.Height && r.Bandwidth == picture.Quality.Bandwidth
	})
	if len(others.All) != n {
		o.revise()
	}
	for _, r := range others.All {
		if picture.Outage.reachedLimit(o.now) || picture.Outage.open() && r.found != "" {
			r.record(detector.RenditionUnknown, &o.emitter)
		}
	}
}

// states returns the states for health. They are unknown if the watched picture is not judged.
func (o *otherRenditions) states(judged bool) (states []monitor.RenditionState) {
	for _, r := range o.All {
		s := monitor.RenditionState{Height: r.Height, Bandwidth: r.Bandwidth, State: r.State, LookedAt: r.LookedAt}
		if !judged {
			s.State = detector.RenditionUnknown
		}
		states = append(states, s)
	}
	return states
}
