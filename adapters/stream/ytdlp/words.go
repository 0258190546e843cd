package ytdlp

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// A meaning is a state and the phrases by which YouTube's reason means it, in the
// spelling of pythontool.Normalize.
type meaning struct {
	state   watch.StreamState
	cause   string // goes before YouTube's words, where those do not name it
	phrases []string
}

// meanings are tried from the top, and the order matters: "Video unavailable"
// also introduces rate limits, region locks, ended streams and private videos.
var meanings = []meaning{
	{watch.Blocked, "YouTube demands a bot check from this address", []string{"not a bot", "captcha challenge", "unusual traffic"}},
	{watch.Blocked, "YouTube limits the requests of this address", []string{"rate-limited by youtube", "try again later"}},
	{watch.Blocked, "YouTube refuses the requests of this address", []string{"not available on this app", "likely being blocked"}},
	{watch.RegionLocked, "", []string{"in your country", "from your location", "in your location", "geo restriction"}},
	{watch.AgeRestricted, "", []string{"confirm your age", "age-restricted", "age restricted", "inappropriate for some users"}},
	{watch.MembersOnly, "", []string{"members-only", "channel's members", "join this channel", "requires payment", "premium members"}},
	{watch.Ended, "", []string{"event has ended", "stream has ended", "recording is not available"}},
	{watch.Upcoming, "", []string{"will begin", "premieres in", "scheduled for"}},
	{watch.Private, "", []string{"private video", "video is private", "granted access"}},
	{watch.Blocked, "YouTube demands a sign-in from this address", []string{"please sign in"}},
	{watch.Removed, "", []string{
		"video unavailable", "video is unavailable", "video is not available", "video isn't available", "no longer available",
		"has been removed", "has been terminated", "does not exist",
	}},
}

// encoderOffline is all that YouTube says of a live stream whose encoder is not
// connected. As a part of a longer text the word proves nothing.
const encoderOffline = "offline."

// outdated are the phrases of a yt-dlp that no longer understands YouTube, or that
// does not know the options it is given.
var outdated = []string{"failed to extract", "unable to extract", "extraction failed", "no such option"}

// message is a line of yt-dlp's output and the state it means; empty: none.
type message struct {
	state watch.StreamState
	text  string // one line for people: the cause first, then yt-dlp's words
}

// messages is what a run's stderr comes to.
type messages struct {
	reason message // why YouTube gave no media, in its own words
	fault  message // what failed in the network; refusals before outages
	fatal  string  // the last ERROR, or of a crash the last line
	other  string  // the first warning that says something
}

// readMessages reads stderr. With --ignore-no-formats-error YouTube's reasons are
// WARNING lines, without it or from older versions ERROR lines.
func readMessages(stderr []byte) messages {
	var all messages
	for line := range pythontool.Lines(stderr) {
		text, failed := strip(line)
		if fault := pythontool.Diagnose(text); fault.State != "" {
			if all.fault.state == "" || all.fault.state == watch.Unreachable && fault.State == watch.Blocked {
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

// reasonOf reads a reason that YouTube gives for showing no media.
func reasonOf(text string) message {
	plain := strings.TrimSpace(pythontool.Normalize(text))
	if plain == encoderOffline || plain == strings.TrimSuffix(encoderOffline, ".") {
		return message{watch.Offline, pythontool.OneLine(text)}
	}
	for _, m := range meanings {
		if !containsAny(plain, m.phrases) {
			continue
		}
		if m.cause != "" {
			text = m.cause + ": " + text
		}
		return message{m.state, pythontool.OneLine(text)}
	}
	return message{}
}

// unanswered is the resolution when there is no JSON, or none with a live_status.
func (m messages) unanswered(problem string) watch.Resolution {
	switch {
	case m.reason.state != "":
		return watch.Resolution{State: m.reason.state, Detail: m.reason.text}
	case m.fault.state != "":
		return watch.Resolution{State: m.fault.state, Detail: m.fault.text}
	}
	return watch.Resolution{State: watch.ToolFailed, Detail: m.explain(problem)}
}

// explain adds to a problem the line that best explains it.
func (m messages) explain(problem string) string {
	line := m.fatal
	if line == "" {
		line = m.other
	}
	if line != "" {
		problem += ": " + line
	}
	if containsAny(pythontool.Normalize(line), outdated) {
		problem = `yt-dlp may be too old for what YouTube sends now; update it (pip install -U "yt-dlp[default]"): ` + problem
	}
	return pythontool.OneLine(problem)
}

func containsAny(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

var (
	// prefix is "WARNING: [youtube] dQw4w9WgXcQ: " or less of it.
	prefix = regexp.MustCompile(`^(?:(WARNING|ERROR|Deprecated Feature): )?(?:\[[\w:+-]+\] )?(?:[A-Za-z0-9_-]{11}: )?`)
	// advice is what yt-dlp adds for somebody at a terminal.
	advice = regexp.MustCompile(`\s*(?:Use --cookies|; please report this issue|It is recommended to use|Confirm you are on the latest).*$`)
)

// strip removes level, extractor and advice from a line and reports whether the line
// is about a failure: an ERROR, or a line without a level, which only crashes and
// wrong options make.
func strip(line string) (text string, failed bool) {
	m := prefix.FindStringSubmatch(line)
	text = advice.ReplaceAllString(line[len(m[0]):], "")
	return text, m[1] == "ERROR" || m[1] == ""
}

// isBoilerplate reports what yt-dlp says about every video that has no formats.
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
