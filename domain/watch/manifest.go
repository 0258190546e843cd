package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// manifest describes the manifest that led to the present feeds.
type manifest struct {
	AdoptedAt  time.Time      `json:"adopted_at,omitzero"`
	ExpiresAt  time.Time      `json:"expires_at,omitzero"`   // by the server's clock, from when on it refuses the URLs; zero: unknown
	Egress     string         `json:"egress,omitempty"`      // the address to which the URLs are bound (decision O8)
	Header     *RequestHeader `json:"header,omitempty"`      // that requests for the URLs carry
	PendingURL string         `json:"pending_url,omitempty"` // of a renewed manifest that has yet to be read
	Seeking    bool           `json:"seeking,omitempty"`     // all watched playlists have ended, and no other was seen to go on since
	Nesting    int            `json:"nesting,omitempty"`     // master playlists that the watch read on the way to the feeds
}

// lived returns how old the URLs of the manifest are.
func (m *manifest) lived(now time.Time) time.Duration { return now.Sub(m.AdoptedAt) }

// renewAt returns from when on a regular answer replaces the manifest (decision S17).
// URLs that are given out for little more than renewBeforeExpiry are left to the server:
// its refusal renews them (decision S7).
func (m *manifest) renewAt() time.Time {
	at := m.AdoptedAt.Add(renewAfter)
	if early := m.ExpiresAt.Add(-renewBeforeExpiry); early.After(m.AdoptedAt.Add(liveCheck)) {
		at = instant.Earliest(at, early)
	}
	return at
}

// manifests handles the manifests that lead to the feeds.
type manifests struct{ *stream }

// adopt takes the manifest of a resolution if the watch needs one: before the first feed, in an
// outage, and from renewAt on.
func (m manifests) adopt(o Resolution) {
	defer otherRenditionLooks(m).learn(o) // which of them is watched is known then
	if m.state.Feeds.hasURL() && !m.state.Feeds.inOutage() && m.now.Before(m.state.Manifest.renewAt()) {
		return
	}
	if !o.hasMedia() {
		m.recordNone(NewFailure(FailureNetwork, "%s", cmp.Or(o.Detail, "the stream is live but its encoder sends nothing")))
		return
	}
	if len(o.Renditions) != 1 {
		m.avoidFailing()
	}
	choices := []choice{{Rendition{URL: o.Manifest}, bothTracks}}
	switch {
	case len(o.Renditions) > 0:
		choices = chooseRenditions(o.Renditions, m.rules.Prefer, m.state.Feeds.avoided())
		if len(choices) == 0 {
			m.recordNone(nothingToWatch())
			return
		}
	case m.state.Feeds.hasURL():
		choices = nil // the feeds go on until the manifest has been read
	}
	if m.state.Manifest.lived(m.now) >= shortLife {
		for _, f := range m.state.Feeds {
			f.Refusals = 0
		}
	}
	m.state.Manifest = manifest{AdoptedAt: m.now, ExpiresAt: o.expiresAt(), Egress: o.Egress, Header: o.Header}
	if len(o.Renditions) > 0 {
		captionTexts(m).learn(o.Renditions)
	}
	if choices == nil {
		m.state.Manifest.PendingURL = o.Manifest
		return
	}
	m.switchTo(choices)
}

// switchTo watches these renditions from now on.
func (m manifests) switchTo(choices []choice) {
	before := m.state.Feeds
	for _, f := range before {
		analyses(m).apply(f)
	}
	for i := range choices {
		choices[i].tracks = choices[i].tracks.and(m.rules.expected())
	}
	m.state.Feeds = before.replace(choices, m.now)
	for _, f := range m.state.Feeds {
		f.Egress, f.Header = m.state.Manifest.Egress, m.state.Manifest.Header
		if slices.ContainsFunc(before, func(old *mediaFeed) bool { return old.URL == f.URL }) {
			continue
		}
		f.changeURL()
		f.readAtOnce()
		f.Outage.RetryAt = m.now
	}
}

// seekOther has the list of renditions read once all watched playlists have ended: the encoder of one quality may have
// ended alone. It does so once, until a playlist goes on. It reports false if there is no list to read.
func (m manifests) seekOther() bool {
	list, picture := m.state.Others.ListURL, m.state.Feeds.picture()
	if m.state.Manifest.Seeking || !m.state.monitoring() || list == "" || picture == nil || picture.Quality == (quality{}) {
		return false
	}
	m.state.Manifest.Seeking, m.state.Manifest.PendingURL = true, list
	return true
}

// besideEnded returns the renditions without the one that has ended; none if no other carries its tracks.
func besideEnded(listed []Rendition, ended *mediaFeed) []Rendition {
	if at := indexOfWatched(listed, ended); at >= 0 {
		url := listed[at].URL
		listed = slices.DeleteFunc(slices.Clone(listed), func(r Rendition) bool { return r.URL == url })
	}
	if !slices.ContainsFunc(listed, func(r Rendition) bool { return r.HasVideo == ended.Quality.HasVideo && !r.Alternate }) {
		return nil
	}
	return listed
}

// takeRenewed takes in the reading of a renewed manifest. It reports whether that is the playlist
// of a feed.
func (m manifests) takeRenewed(o Playlist) bool {
	m.state.Manifest.PendingURL = ""
	m.revise()
	choices, seeking := []choice{{Rendition{URL: o.URL}, bothTracks}}, m.state.Manifest.Seeking
	if listed := o.Renditions; len(listed) > 0 {
		m.state.Manifest.Nesting = 1
		captionTexts(m).learn(listed)
		if seeking {
			listed = besideEnded(listed, m.state.Feeds.picture())
		}
		choices = chooseRenditions(listed, m.rules.Prefer, m.state.Feeds.avoided())
	}
	if o.Failure == nil && len(choices) == 0 {
		o.Failure = nothingToWatch()
	}
	switch {
	case o.Failure == nil:
	case seeking:
		m.end(event.EndedByEndlist)
		return false
	default:
		m.logWarn("The stream's renewed manifest could not be read", map[string]any{"error": o.Failure.Error()})
		return false
	}
	m.switchTo(choices)
	return len(o.Renditions) == 0
}

// expand replaces a feed whose URL turned out to be a master playlist by feeds of its
// renditions.
func (m manifests) expand(f *mediaFeed, renditions []Rendition) *Failure {
	if m.state.Manifest.Nesting == maxNesting {
		return NewFailure(FailureMalformed, "a list of renditions inside a list of renditions")
	}
	choices := slices.DeleteFunc(chooseRenditions(renditions, m.rules.Prefer, m.state.Feeds.avoided()), func(c choice) bool {
		return !c.tracks.overlaps(f.Tracks)
	})
	if len(choices) == 0 {
		return nothingToWatch()
	}
	for i := range choices {
		choices[i].tracks = choices[i].tracks.and(f.Tracks)
	}
	m.state.Manifest.Nesting++
	captionTexts(m).learn(renditions)
	m.revise()
	at := slices.Index(m.state.Feeds, f)
	m.state.Feeds = slices.Replace(m.state.Feeds, at, at+1, mediaFeeds{f}.replace(choices, m.now)...)
	return nil
}

// recordNone records that a live stream has no manifest. Feeds that have a URL go on.
func (m manifests) recordNone(failure *Failure) {
	if m.state.Feeds.hasURL() {
		return
	}
	if len(m.state.Feeds) == 0 && m.state.monitoring() {
		m.state.Feeds = mediaFeeds{{Tracks: m.rules.expected()}}
	}
	m.state.Blind.LastError = failure.Error()
	for _, f := range m.state.Feeds {
		f.failReading(m.now)
		outages(m).recordFailure(f, event.FailedManifest, failure, m.now)
	}
}

// avoidFailing avoids the renditions that failed again under a renewed URL, so that another
// one is chosen until their outage ends.
func (m manifests) avoidFailing() {
	for _, f := range m.state.Feeds {
		o, q := &f.Outage, f.Quality
		failedAgain := o.open() && m.state.Manifest.AdoptedAt.After(o.Since) && o.FailedAt.After(m.state.Manifest.AdoptedAt)
		if !failedAgain || q == (quality{}) || len(o.Avoided) == maxAvoided || slices.Contains(o.Avoided, q) {
			continue
		}
		o.Avoided = append(slices.Clip(o.Avoided), q) // another feed's outage may share it
		m.logWarn("A rendition goes on failing; another is tried if there is one", map[string]any{
			"height": q.Height, "bandwidth": q.Bandwidth, "has_video": q.HasVideo, "has_audio": q.HasAudio,
		})
	}
}

func nothingToWatch() *Failure {
	return NewFailure(FailureMalformed, "no rendition carries picture or sound")
}
