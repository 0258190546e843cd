package ytdlp

import (
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// outdated are phrases of a yt-dlp that is too old for the site or for the options.
var outdated = []string{"failed to extract", "unable to extract", "extraction failed", "no such option"}

// message is a line of yt-dlp's output and its state, which is empty for other lines.
type message struct {
	state watch.StreamState
	text  string // one line: the cause first, then yt-dlp's words
}

// messages are the relevant messages of a run's stderr.
type messages struct {
	site   pythontool.Site
	reason message // why the site gave no media, in its own words
	fault  message // what failed in the network; refusals before outages
	fatal  string  // the last ERROR, or of a crash the last line
	other  string  // the first warning that is not boilerplate
}

// readMessages reads the stderr of a question about a stream. With --ignore-no-formats-error the
// site's reasons are WARNING lines, without it or from older versions ERROR lines.
func readMessages(site pythontool.Site, streamID string, stderr []byte) messages {
	all := messages{site: site}
	for line := range pythontool.Lines(stderr) {
		text, failed := parseLine(streamID, line)
		if fault := site.Diagnose(text); fault.State != "" {
			if all.fault.state == "" || !all.fault.state.Refused() && fault.State.Refused() {
				all.fault = message{fault.State, fault.Detail(text)}
			}
		} else if state, reason := site.Reason(text); state != "" && all.reason.state == "" {
			all.reason = message{state, reason}
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

// unexplained reports whether the site or the tool gave words that nobody knows. They may be the
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
		problem = "yt-dlp may be too old for what " + m.site.Title + ` sends now; update it (pip install -U "yt-dlp[default]"): ` + problem
	}
	return pythontool.OneLine(problem)
}

var (
	// prefix matches the beginning of "WARNING: [youtube] dQw4w9WgXcQ: ", up to the stream's id, or a part of it.
	prefix = regexp.MustCompile(`^(?:(WARNING|ERROR|Deprecated Feature): )?(?:\[[\w:+-]+\] )?`)
	// advice matches yt-dlp's hints for a terminal user.
	advice = regexp.MustCompile(`\s*(?:Use --cookies|; please report this issue|It is recommended to use|Confirm you are on the latest).*$`)
)

// parseLine removes level, extractor, the stream's id and advice from a line. failed reports an ERROR, or
// a line without a level: only crashes and wrong options print such a line.
func parseLine(streamID, line string) (text string, failed bool) {
	m := prefix.FindStringSubmatch(line)
	text = advice.ReplaceAllString(strings.TrimPrefix(line[len(m[0]):], streamID+": "), "")
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
