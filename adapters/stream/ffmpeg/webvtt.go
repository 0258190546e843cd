package ffmpeg

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// vttMarkup matches what is no text in the payload of a cue: tags, and spaces by their names.
var vttMarkup = regexp.MustCompile(`<[^>]*>|&(nbsp|lrm|rlm);`)

// readText says whether a segment of WebVTT (W3C, WebVTT 1, section 4) has a cue with text. Its error is
// that of body, or a *watch.Failure of kind undecodable.
func readText(body io.Reader) (detector.CaptionState, error) {
	lines := bufio.NewScanner(body)
	inCue, isFirst := false, true
	for lines.Scan() {
		line := lines.Text()
		switch {
		case isFirst:
			if !strings.HasPrefix(strings.TrimPrefix(line, "\ufeff"), "WEBVTT") {
				return "", watch.NewFailure(watch.FailureUndecodable, "not WebVTT: it does not begin with WEBVTT")
			}
		case strings.Contains(line, "-->"):
			inCue = true
		case strings.TrimSpace(line) == "":
			inCue = false
		case inCue && strings.TrimSpace(vttMarkup.ReplaceAllString(line, "")) != "":
			return detector.CaptionText, nil
		}
		isFirst = false
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return "", watch.NewFailure(watch.FailureUndecodable, "a line of more than %d bytes", bufio.MaxScanTokenSize)
	case err != nil:
		return "", err
	case isFirst:
		return "", watch.NewFailure(watch.FailureUndecodable, "an empty segment")
	}
	return detector.EmptyCaptions, nil
}
