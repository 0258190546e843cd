package ytdlp

import (
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// A meaning is a state and the words that make YouTube's reason mean it, in
// lower case and with straight apostrophes.
type meaning struct {
	state watch.StreamState
	words []string
}

// meanings are tried from the top, and the order matters: "Video unavailable"
// also introduces rate limits, region locks, ended streams and private videos.
var meanings = []meaning{
	{watch.Blocked, []string{
		"not a bot", "rate-limited by youtube", "captcha challenge", "try again later",
		"not available on this app", "likely being blocked", "unusual traffic",
	}},
	{watch.RegionLocked, []string{"in your country", "from your location", "in your location", "geo restriction"}},
	{watch.AgeRestricted, []string{"confirm your age", "age-restricted", "age restricted", "inappropriate for some users"}},
	{watch.MembersOnly, []string{"members-only", "channel's members", "join this channel", "requires payment", "premium members"}},
	{watch.Ended, []string{"event has ended", "stream has ended", "recording is not available"}},
	{watch.Upcoming, []string{"will begin", "premieres in", "scheduled for"}},
	{watch.Private, []string{"private video", "video is private", "granted access"}},
	{watch.Blocked, []string{"please sign in"}},
	{watch.Removed, []string{
		"video unavailable", "video is unavailable", "video is not available", "video isn't available", "no longer available",
		"has been removed", "has been terminated", "does not exist",
	}},
}

// offline is all that YouTube says of a live stream whose encoder is not
// connected; as a part of a longer text the word proves nothing.
const offline = "offline."

// statement is a line of yt-dlp's and what it means, empty when nothing to us.
type statement struct {
	state watch.StreamState
	words string // made for people, see pytool.Line
}

// testimony is what a run's stderr comes to.
type testimony struct {
	reason statement // why YouTube gave no media, in its own words
	fault  statement // what went wrong with the network; refusals before outages
	fatal  string    // the last ERROR, or of a crash the last line
	other  string    // the first warning that says something
}

// hear reads stderr. With --ignore-no-formats-error YouTube's reasons are
// WARNING lines, without it or from older versions ERROR lines.
func hear(stderr []byte) testimony {
	var t testimony
	for line := range pythontool.Lines(stderr) {
		text, failed := strip(line)
		s := statement{words: pythontool.Line(text)}
		if s.state = pythontool.Fault(text); s.state != "" {
			if t.fault.state == "" || t.fault.state == watch.Unreachable && s.state == watch.Blocked {
				t.fault = s
			}
		} else if s.state = meansTo(text); s.state != "" && t.reason.state == "" {
			t.reason = s
		}
		switch {
		case failed:
			t.fatal = s.words
		case t.other == "" && !boilerplate(text):
			t.other = s.words
		}
	}
	return t
}

func meansTo(text string) watch.StreamState {
	text = strings.TrimSpace(pythontool.Plain(text))
	if text == offline || text == strings.TrimSuffix(offline, ".") {
		return watch.Offline
	}
	for _, m := range meanings {
		for _, w := range m.words {
			if strings.Contains(text, w) {
				return m.state
			}
		}
	}
	return ""
}

// unanswered is the answer when there is no JSON, or none with a live_status.
func (t testimony) unanswered(what string) watch.Resolution {
	switch {
	case t.reason.state != "":
		return watch.Resolution{State: t.reason.state, Detail: t.reason.words}
	case t.fault.state != "":
		return watch.Resolution{State: t.fault.state, Detail: t.fault.words}
	}
	return watch.Resolution{State: watch.ToolFailed, Detail: t.explain(what)}
}

// explain adds to what happened the line that best explains a failure that
// nobody foresaw.
func (t testimony) explain(what string) string {
	switch {
	case t.fatal != "":
		what += ": " + t.fatal
	case t.other != "":
		what += ": " + t.other
	}
	return pythontool.Line(what)
}

var (
	// prefix is "WARNING: [youtube] dQw4w9WgXcQ: " or less of it.
	prefix = regexp.MustCompile(`^(?:(WARNING|ERROR|Deprecated Feature): )?(?:\[[\w:+-]+\] )?(?:[A-Za-z0-9_-]{11}: )?`)
	// advice is what yt-dlp adds for somebody at a terminal.
	advice = regexp.MustCompile(`\s*(?:Use --cookies|; please report this issue|It is recommended to use|Confirm you are on the latest).*$`)
)

// strip leaves only what is said of a line and tells whether it is about a
// failure: an ERROR, or a line without a level, which only crashes and wrong
// options make.
func strip(line string) (text string, failed bool) {
	m := prefix.FindStringSubmatch(line)
	text = advice.ReplaceAllString(line[len(m[0]):], "")
	return text, m[1] == "ERROR" || m[1] == ""
}

// boilerplate is said about every video that has no formats.
func boilerplate(text string) bool {
	for _, s := range []string{
		"No video formats found", "Requested format is not available", `Extractor failed to obtain "title"`,
	} {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}
