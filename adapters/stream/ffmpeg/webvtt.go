package ffmpeg

import (
	"io"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// vttMarkup matches what is no text in the payload of a cue: tags, and spaces by their names.
var vttMarkup = regexp.MustCompile(`<[^>]*>|&(nbsp|lrm|rlm);`)

// lineEnds makes the three line ends of WebVTT one.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// readText says whether a segment of WebVTT (W3C, WebVTT 1, section 4) has a cue with text. The caller limits
// the size of body. Its error is that of body, or a *watch.Failure of kind undecodable.
func readText(body io.Reader) (detector.CaptionState, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	if !strings.HasPrefix(text, "WEBVTT") {
		return "", watch.NewFailure(watch.FailureUndecodable, "not WebVTT: it does not begin with WEBVTT")
	}
	inCue := false
	for line := range strings.SplitSeq(lineEnds.Replace(text), "\n") {
		switch {
		case strings.Contains(line, "-->"):
			inCue = true
		case strings.TrimSpace(line) == "":
			inCue = false
		case inCue && strings.TrimSpace(vttMarkup.ReplaceAllString(line, "")) != "":
			return detector.CaptionText, nil
		}
	}
	return detector.EmptyCaptions, nil
}
