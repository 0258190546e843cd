package youtube

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DefaultChannelID is the channel of every video that names no other. It is there from the start.
const DefaultChannelID = "UC0123456789abcdefghijkl"

// The names of the default channel.
const (
	author = "Stream Monitor Television"
	handle = "@streammonitortelevision"
)

// Channel is a channel. Its tab of streams lists its videos: those to come, those that are live, and those
// that ended, each by time, the latest first. Its uploads playlist lists them in the order in which they were added.
type Channel struct {
	Handle   string // with its @; without it, the name in URLs of before, /c/NAME and /user/NAME
	Title    string
	Layout   Layout // of the entries of its tab
	Answer   Answer // what a request for its tab of streams gets
	Alert    string // an error that YouTube shows in place of the tabs, such as "This channel does not exist."; empty: none
	PageSize int    // entries before a continuation, default 30
}

// Layout is the form of the entries of a tab.
type Layout string

// The layouts.
const (
	Lockup   Layout = ""         // lockupViewModel: the start of a stream is a text without a zone
	Renderer Layout = "renderer" // videoRenderer, the one of before: with the start in seconds
)

// Answer is what a request for a tab of streams gets.
type Answer string

// The answers.
const (
	StreamsTab       Answer = ""                  // the tab
	NoStreamsTab     Answer = "no_streams_tab"    // home: the channel has no tab of streams
	HomeInstead      Answer = "home_instead"      // home, although the channel has the tab
	OnlyContinuation Answer = "only_continuation" // a page with nothing but a continuation, and then the tab
)

// AddChannel adds a channel, or replaces it. id is UC and 22 of A-Z a-z 0-9 _ -.
func (y *Server) AddChannel(id string, c Channel) {
	if c.PageSize == 0 {
		c.PageSize = 30
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.channels[id] = c
}

// RemoveChannel removes a channel. YouTube answers 404 for it from then on.
func (y *Server) RemoveChannel(id string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.channels, id)
}

// channelOf returns the channel of an address: an id, a handle or a name.
func (y *Server) channelOf(address string) (id string, c Channel, exists bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if c, exists = y.channels[address]; exists {
		return address, c, true
	}
	for id, c := range y.channels {
		if c.Handle != "" && strings.EqualFold(strings.TrimPrefix(c.Handle, "@"), strings.TrimPrefix(address, "@")) {
			return id, c, true
		}
	}
	return "", Channel{}, false
}

// listed is a video as the pages of its channel show it.
type listed struct {
	entry

	id   string
	mark mark
}

// mark is what a tab shows of a video, in the order of the tab.
type mark int

const (
	isUpcoming mark = iota
	isLive
	hasEnded
	noStream // it is in the uploads only
	hidden
)

// markOf returns what a tab shows of a video. A video that the player refuses is shown by its schedule.
func markOf(v Video) mark {
	switch v.State {
	case Upcoming, Premiere:
		return isUpcoming
	case Live, Offline:
		return isLive
	case Ended, PostLive, Archived, NoRecording:
		return hasEnded
	case Ordinary:
		return noStream
	case Private, Removed, Unavailable:
		return hidden
	}
	if v.Scheduled.After(time.Now()) {
		return isUpcoming
	}
	return isLive
}

// videosOf returns the videos of a channel that are not hidden, the latest addition first.
func (y *Server) videosOf(channel string) (all []listed) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for id, e := range y.videos {
		if m := markOf(e.Video); m != hidden && e.channel() == channel {
			all = append(all, listed{entry: *e, id: id, mark: m})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return b.number - a.number })
	return all
}

// streamsOf returns the videos on the tab of streams, in its order.
func (y *Server) streamsOf(channel string) []listed {
	all := slices.DeleteFunc(y.videosOf(channel), func(l listed) bool { return l.mark == noStream })
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.mark, b.mark), b.Scheduled.Compare(a.Scheduled), b.Started.Compare(a.Started))
	})
	return all
}

// liveOf returns the video of a channel's /live page: one that is live, or else one to come; empty: none.
func (y *Server) liveOf(channel string) (id string) {
	for _, l := range y.streamsOf(channel) {
		switch l.mark {
		case isLive:
			return l.id
		case isUpcoming:
			id = l.id
		}
	}
	return id
}
