package ytdlp

import (
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// meaning maps phrases of YouTube's reasons to a state. The phrases are normalized
// (pythontool.Normalize).
type meaning struct {
	state   watch.StreamState
	cause   string // put before YouTube's words if they do not name the cause
	phrases []string
}

// meanings are tried in order: first what is about the network, the address or the client that
// asks, which says nothing about the video. "Video unavailable" introduces every kind of reason,
// so it means a removed video only if nothing follows.
var meanings = []meaning{
	{watch.Blocked, "YouTube demands a bot check from this address", []string{"not a bot", "captcha challenge", "unusual traffic"}},
	{watch.Blocked, "the network of this address restricts what YouTube shows", []string{"administrator", "restricted mode", "video is restricted"}},
	{watch.RateLimited, "YouTube limits the requests of this address", []string{"rate-limited by youtube", "try again later"}},
	{watch.Blocked, "YouTube refuses the requests of this address", []string{
		"likely being blocked", "vpn", "on this app", "on this device", "in this browser", "on other websites", "to be reloaded",
	}},
	{watch.RegionLocked, "", []string{"in your country", "from your location", "in your location", "geo restriction"}},
	{watch.AgeRestricted, "", []string{"confirm your age", "age-restricted", "age restricted", "inappropriate for some users"}},
	{watch.MembersOnly, "", []string{"members-only", "channel's members", "join this channel", "requires payment", "premium members"}},
	{watch.Ended, "", []string{"event has ended", "stream has ended", "recording is not available"}},
	{watch.Upcoming, "", []string{"will begin", "premieres in", "scheduled for"}},
	{watch.Private, "", []string{"private video", "video is private", "granted access"}},
	{watch.Blocked, "YouTube demands a sign-in from this address", []string{"sign in"}},
	{watch.Removed, "", []string{
		"video is unavailable", "video is not available", "video isn't available", "no longer available",
		"has been removed", "has been terminated", "has closed their youtube account", "does not exist", "on copyright grounds",
	}},
}

// unavailable is the whole reason for a video that does not exist, without its full stop.
const unavailable = "video unavailable"

// encoderOffline is the whole reason for a live stream without a connected encoder. In a
// longer text the word proves nothing.
const encoderOffline = "offline."

// outdated are phrases of a yt-dlp that is too old for YouTube or for the options.
var outdated = []string{"failed to extract", "unable to extract", "extraction failed", "no such option"}

// message is a line of yt-dlp's output and its state, which is empty for other lines.
type message struct {
	state watch.StreamState
	text  string // one line: the cause first, then yt-dlp's words
}

// messages are the relevant messages of a run's stderr.
type messages struct {
	reason message // why YouTube gave no media, in its own words
	fault  message // what failed in the network; refusals before outages
	fatal  string  // the last ERROR, or of a crash the last line
	other  string  // the first warning that is not boilerplate
}

// readMessages reads stderr. With --ignore-no-formats-error YouTube's reasons are
// WARNING lines, without it or from older versions ERROR lines.
func readMessages(stderr []byte) messages {
	var all messages
	for line := range pythontool.Lines(stderr) {
		text, failed := parseLine(line)
		if fault := pythontool.Diagnose(text); fault.State != "" {
			if all.fault.state == "" || !all.fault.state.Refused() && fault.State.Refused() {
				all.fault = message{fault.State, fault.Detail(text)}
			}
		} else if reason := reasonOf(text); reason.state != "" && all.reason.state == "" {
			all.reason = reason
		}
		switch {
		case failed:
			all.fatal = pythontool.OneLine(text)
		case all.other == "" && !isBoilerplate(text):
			all.other = pythontool.OneLine(text)
		}
	}
	return all
}

// reasonOf recognizes YouTube's reason for not showing media.
func reasonOf(text string) message {
	plain := strings.TrimSpace(pythontool.Normalize(text))
	if plain == encoderOffline || plain == strings.TrimSuffix(encoderOffline, ".") {
		return message{watch.Offline, pythontool.OneLine(text)}
	}
	if strings.TrimSuffix(plain, ".") == unavailable {
		return message{watch.Removed, pythontool.OneLine(text)}
	}
	for _, m := range meanings {
		if !pythontool.ContainsAny(plain, m.phrases) {
			continue
		}
		if m.cause != "" {
			text = m.cause + ": " + text
		}
		return message{m.state, pythontool.OneLine(text)}
	}
	return message{}
}

// toolFailure returns the Resolution of a run without JSON, or without a live_status in it.
func (m messages) toolFailure(problem string) watch.Resolution {
	switch {
	case m.reason.state != "":
		return watch.Resolution{State: m.reason.state, Detail: m.reason.text}
	case m.fault.state != "":
		return watch.Resolution{State: m.fault.state, Detail: m.fault.text}
	}
	return watch.Resolution{State: watch.ToolFailed, Detail: m.explain(problem)}
}

// unexplained reports whether YouTube or the tool gave words that nobody knows. They may be the
// reason for which there are no media, so nothing is concluded from that.
func (m messages) unexplained() bool { return m.reason.state == "" && m.fatal+m.other != "" }

// explain adds to a problem the line that best explains it.
func (m messages) explain(problem string) string {
	line := m.fatal
	if line == "" {
		line = m.other
	}
	if line != "" {
		problem += ": " + line
	}
	if pythontool.ContainsAny(pythontool.Normalize(line), outdated) {
		problem = `yt-dlp may be too old for what YouTube sends now; update it (pip install -U "yt-dlp[default]"): ` + problem
	}
	return pythontool.OneLine(problem)
}

var (
	// prefix matches "WARNING: [youtube] dQw4w9WgXcQ: " or a part of it.
	prefix = regexp.MustCompile(`^(?:(WARNING|ERROR|Deprecated Feature): )?(?:\[[\w:+-]+\] )?(?:[A-Za-z0-9_-]{11}: )?`)
	// advice matches yt-dlp's hints for a terminal user.
	advice = regexp.MustCompile(`\s*(?:Use --cookies|; please report this issue|It is recommended to use|Confirm you are on the latest).*$`)
)

// parseLine removes level, extractor and advice from a line. failed reports an ERROR, or
// a line without a level: only crashes and wrong options print such a line.
func parseLine(line string) (text string, failed bool) {
	m := prefix.FindStringSubmatch(line)
	text = advice.ReplaceAllString(line[len(m[0]):], "")
	return text, m[1] == "ERROR" || m[1] == ""
}

// isBoilerplate reports whether yt-dlp prints the line for every video without formats.
func isBoilerplate(text string) bool {
	for _, s := range []string{
		"No video formats found", "Requested format is not available", `Extractor failed to obtain "title"`,
	} {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}
