// Package channel decides what is watched of a channel: which of its streams become
// reservations or monitors, when its page is read again, and what is said of it.
package channel

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Listing is what a source says of a channel's streams at one moment.
type Listing struct {
	ID      string // that the source gave the channel; for YouTube, UC and 22 characters
	Handle  string // with its @; empty: the answer does not have it
	Title   string
	By      string   // which way of asking found it, such as browse or yt-dlp
	Streams []Stream // in the order of the source

	// Partial says that a part of the answer was not understood, or that more pages follow. So a stream that
	// is not in Streams may be there.
	Partial bool
}

// Stream is one stream of a channel, as its page shows it.
type Stream struct {
	URL            monitor.StreamURL
	Broadcast      string // which of those that come and go under the URL; empty: unknown, or there is one only
	Title          string
	State          State
	ScheduledStart time.Time // zero: the page does not say it
	StartedAt      time.Time // zero: it does not say it
	MembersOnly    bool
}

// ListingOf returns what the answer of a resolver says of a place: the one broadcast that is live there now, or none. Errors:
// *Failure.
func ListingOf(place monitor.StreamURL, r watch.Resolution) (Listing, error) {
	l := Listing{Title: r.Channel, By: r.Source}
	live := Stream{URL: place, Broadcast: monitor.StorableText(r.Broadcast, monitor.MaxBroadcast), Title: r.Title, State: Live, StartedAt: r.ActualStart}
	switch r.State {
	case watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream:
		return l, nil
	case watch.Live, watch.ManifestFound:
		if r.Broadcast == "" {
			return Listing{}, &Failure{Kind: Unreadable, Detail: "the answer does not say which broadcast is live"}
		}
	case watch.RegionLocked, watch.AgeRestricted: // its monitor says so
	case watch.MembersOnly, watch.Private:
		live.MembersOnly = true
	default:
		if r.Broadcast == "" {
			return Listing{}, &Failure{Kind: FailureOf(r.State), Detail: r.Detail, NotAsked: r.State == watch.CircuitOpen}
		}
		live.MembersOnly = true // it is live, and has no media for whoever asks
	}
	l.Streams = []Stream{live}
	return l, nil
}

// State is the state of a stream, as the page of its channel shows it.
type State string

// The states of a stream on a page.
const (
	Upcoming State = "upcoming"
	Live     State = "live"
	Ended    State = "ended"
	Unclear  State = "unclear" // it has no mark that is known
)

// FailureKind says why a channel could not be read.
type FailureKind string

// The kinds of failure.
const (
	NotFound    FailureKind = "not_found"    // the source has no such channel
	NoStreams   FailureKind = "no_streams"   // the channel exists, and has no page of streams
	Refused     FailureKind = "refused"      // the source refuses whoever asks: 401, 403, a bot check, a page of consent
	RateLimited FailureKind = "rate_limited" // 429
	Network     FailureKind = "network"      // DNS, connect, timeout, 5xx
	Unreadable  FailureKind = "unreadable"   // an answer in a form that is not known
	ToolFailed  FailureKind = "tool_failed"  // the tool is missing, was killed or printed rubbish
)

// FailureOf returns what a resolver's answer without a stream says of the channel.
func FailureOf(state watch.StreamState) FailureKind {
	switch state {
	case watch.Removed:
		return NotFound
	case watch.Blocked:
		return Refused
	case watch.RateLimited:
		return RateLimited
	case watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable:
		return Network
	}
	return ToolFailed
}

// Failure says why a channel could not be read. Only NotFound and NoStreams say something of the channel.
type Failure struct {
	Kind     FailureKind
	Detail   string // one line, without a secret
	NotAsked bool   // nobody was asked: the tool has failed repeatedly, or too many ran
}

// StateOf returns the outcome of a question about a channel as the state of a stream, by which circuit breakers and egress
// addresses judge. A nil Failure is an answer, and so is one that says something of the channel.
func StateOf(f *Failure) watch.StreamState {
	if f == nil {
		return watch.Live
	}
	if f.NotAsked {
		return watch.CircuitOpen
	}
	switch f.Kind {
	case NotFound, NoStreams:
		return watch.Live
	case Refused:
		return watch.Blocked
	case RateLimited:
		return watch.RateLimited
	case Network:
		return watch.Unreachable
	case Unreadable, ToolFailed:
	}
	return watch.ToolFailed
}

// Error returns the kind and the detail.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Kind, f.Detail) }
