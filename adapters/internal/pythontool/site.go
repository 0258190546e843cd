package pythontool

import (
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Site is what the tools have to know of a source. The package of the source has it.
type Site struct {
	Title   string   // for people
	Options []string // further options of every run of yt-dlp

	// ListDASH are options with which yt-dlp also lists DASH of a live stream, at a price; nil: it lists all it
	// knows without them.
	ListDASH []string

	// Place says that the site's URLs name places where broadcasts come and go (monitor.Source.Returns). yt-dlp then prints
	// the id of the broadcast as id, that of the place as display_id, the broadcast's start as timestamp and its title as
	// description. A stream that it does not call live is a repetition.
	Place bool

	// MediaHeaders says that the site's media need the headers and cookies that streamlink sends. It prints them with
	// the list of streams only, which has no URL for separate picture and sound.
	MediaHeaders bool

	// Reasons are the site's words for giving no media. They are tried in order: first what is about the network,
	// the address or the client that asks, which says nothing about the stream.
	Reasons []Reason

	Channels Channels // the zero value: the site has none
}

// Channels says how yt-dlp lists the streams of the channels of a site.
type Channels struct {
	ID        *regexp.Regexp
	Page      func(address string) (url string) // of the streams of the channel with an address; what ended is listed last
	NoStreams []string                          // the site's words for a channel without that page, normalized
}

// Reason is what some words of a site mean. The phrases are normalized (Normalize).
type Reason struct {
	State   watch.StreamState
	Cause   string // put before the site's words if they do not name the cause
	Phrases []string
	Request bool // the words are of a failed request that is about the stream, and not about the network
	Whole   bool // a phrase is the whole text but for a full stop; in a longer one it proves nothing
}

// Reason returns what a text of the site means, as one line that begins with the cause; no state: it is not known.
func (s Site) Reason(text string) (state watch.StreamState, line string) {
	plain := strings.TrimSpace(Normalize(text))
	for _, r := range s.Reasons {
		if !r.matches(plain) {
			continue
		}
		if r.Cause != "" {
			text = r.Cause + ": " + text
		}
		return r.State, OneLine(text)
	}
	return "", ""
}

func (r Reason) matches(plain string) bool {
	if !r.Whole {
		return ContainsAny(plain, r.Phrases)
	}
	for _, phrase := range r.Phrases {
		if strings.TrimSuffix(plain, ".") == phrase {
			return true
		}
	}
	return false
}
