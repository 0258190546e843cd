package ffmpeg

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
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

// readText says whether a segment of captions has text. It reads WebVTT (W3C, WebVTT 1, section 4) and TTML (W3C,
// TTML 2), as a file and in MP4 (ISO/IEC 14496-30). The caller limits the size of body. Its error is that of body, or
// a *watch.Failure of kind undecodable.
func readText(body io.Reader) (detector.CaptionState, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	text := bytes.TrimPrefix(raw, []byte("\ufeff"))
	var hasText bool
	switch {
	case bytes.HasPrefix(text, []byte("WEBVTT")):
		hasText = vttHasText(string(text))
	case isTTML(text):
		hasText, err = ttmlHasText(text)
	default:
		hasText, err = mp4HasText(raw)
	}
	switch {
	case err != nil:
		return "", watch.NewFailure(watch.FailureUndecodable, "neither WebVTT nor TTML: %v", err)
	case hasText:
		return detector.CaptionText, nil
	}
	return detector.EmptyCaptions, nil
}

// vttHasText reports whether a file of WebVTT has a cue with text.
func vttHasText(file string) bool {
	inCue := false
	for line := range strings.SplitSeq(lineEnds.Replace(file), "\n") {
		switch {
		case strings.Contains(line, "-->"):
			inCue = true
		case strings.TrimSpace(line) == "":
			inCue = false
		case inCue && isVTTText(line):
			return true
		}
	}
	return false
}

func isVTTText(payload string) bool {
	return strings.TrimSpace(vttMarkup.ReplaceAllString(payload, "")) != ""
}

func isTTML(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) }

// ttmlHasText reports whether documents of TTML have text in a paragraph, or a picture of one.
func ttmlHasText(documents []byte) (bool, error) {
	d := xml.NewDecoder(bytes.NewReader(documents))
	isTTML, paragraphs := false, 0
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && isTTML:
			return false, nil
		case err != nil:
			return false, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			isTTML = isTTML || t.Name.Local == "tt"
			for _, a := range t.Attr {
				if a.Name.Local == "backgroundImage" {
					return true, nil
				}
			}
			if t.Name.Local == "p" {
				paragraphs++
			}
		case xml.EndElement:
			if t.Name.Local == "p" {
				paragraphs--
			}
		case xml.CharData:
			if isTTML && paragraphs > 0 && len(bytes.TrimSpace(t)) > 0 {
				return true, nil
			}
		}
	}
}

// mp4HasText reports whether the samples of a fragment of MP4 have text. A sample is a document of TTML, or boxes of
// WebVTT, each a cue or the lack of one.
func mp4HasText(segment []byte) (hasText bool, err error) {
	found := false
	err = eachBox(segment, func(kind string, samples []byte) error {
		if kind != "mdat" || hasText {
			return nil
		}
		found = true
		if isTTML(samples) {
			hasText, err = ttmlHasText(samples)
			return err
		}
		return eachBox(samples, func(kind string, cue []byte) error {
			switch kind {
			case "vttc":
				return eachBox(cue, func(kind string, payload []byte) error {
					hasText = hasText || kind == "payl" && isVTTText(string(payload))
					return nil
				})
			case "vtte", "vtta":
				return nil
			}
			return errors.New("a sample is no cue")
		})
	})
	if err == nil && !found {
		err = errors.New("there are no samples")
	}
	return hasText, err
}

// eachBox calls do for each box of MP4 (ISO/IEC 14496-12, section 4.2) until it fails.
func eachBox(data []byte, do func(kind string, content []byte) error) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return errors.New("a box is cut off")
		}
		size := int64(binary.BigEndian.Uint32(data))
		if size < 8 || size > int64(len(data)) { // larger boxes, and those without a size, are of no use here
			return errors.New("a box is cut off")
		}
		if err := do(string(data[4:8]), data[8:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
