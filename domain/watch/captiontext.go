package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// captionText is the playlist of captions as text (WebVTT, TTML), if the stream lists one. While a detector judges
// captions, its newest segment is read each check interval, in the lane of the other renditions. Times are
// the clock's.
type captionText struct {
	URL    string                `json:"url,omitempty"`    // empty: the stream lists none
	Egress string                `json:"egress,omitempty"` // the address to which URL is bound
	Header *RequestHeader        `json:"header,omitempty"` // that requests for URL carry
	ReadAt time.Time             `json:"read_at,omitzero"` // when the last reading began
	Newest identity              `json:"newest,omitzero"`  // segment
	NewAt  time.Time             `json:"new_at,omitzero"`  // when the first reading that saw Newest began
	State  detector.CaptionState `json:"state,omitempty"`  // by the last reading; empty: unknown
}

// captionTexts handles captions as text.
type captionTexts struct{ *stream }

// learn takes the playlist from a list of the stream's renditions.
func (c captionTexts) learn(listed []Rendition) {
	at := slices.IndexFunc(listed, func(r Rendition) bool { return r.HasCaptions && !r.HasVideo && !r.HasAudio })
	text := &c.state.Text
	switch {
	case at < 0 && text.URL == "":
		return
	case at < 0:
		*text = captionText{}
	default: // it may be the same playlist under a renewed URL
		text.URL, text.Egress, text.Header = listed[at].URL, c.state.Manifest.Egress, c.state.Manifest.Header
	}
	c.revise()
}

// captionTask returns the next reading of captions as text.
func (p planner) captionTask() (Task, bool) {
	text, judged := &p.state.Text, false
	for d := range p.rules.running(bothTracks) {
		judged = judged || d.Needs&detector.Captions != 0
	}
	if text.URL == "" || !judged || !p.state.monitoring() {
		return Task{}, false
	}
	at := instant.Latest(p.now, text.ReadAt.Add(p.rules.CheckInterval))
	return Task{Kind: TaskRendition, At: at, URL: text.URL, Egress: text.Egress, Header: text.Header, Look: Look{Text: true}}, true
}

// handle takes in a reading. A playlist that stands still, or that the server does not have, carries no
// captions. Other failures say nothing about them.
func (c captionTexts) handle(l RenditionLook) {
	text, failure := &c.state.Text, l.Playlist.Failure
	if l.Playlist.URL != text.URL { // the list has another one since
		return
	}
	text.ReadAt, text.State = l.Playlist.Began, ""
	if n := len(l.Playlist.Segments); n > 0 {
		if id := l.Playlist.Segments[n-1].identity(); text.NewAt.IsZero() || id != text.Newest {
			text.Newest, text.NewAt = id, l.Playlist.Began
		}
	}
	a := l.Analysis
	if failure == nil && a != nil {
		failure = a.Failure
	}
	switch {
	case failure != nil && failure.Kind == FailureExpired,
		failure == nil && a == nil,
		failure == nil && l.Playlist.Began.Sub(text.NewAt) >= stallLimit:
		text.State = detector.NoCaptions
	case failure == nil && a.Measured.Captions != nil:
		text.State = *a.Measured.Captions
	}
}

// captions returns the captions of a sample: those of its picture if they have text, else those of the playlist, if
// there is one; nil: unknown.
func (t *captionText) captions(picture *detector.CaptionState) *detector.CaptionState {
	switch {
	case t.URL == "", picture != nil && *picture == detector.CaptionText:
		return picture
	case t.State == "":
		return nil
	}
	state := t.State
	return &state
}
