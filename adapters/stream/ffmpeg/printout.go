package ffmpeg

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// parse reads what ffmpeg left: the listing of the video on stdout, that of the
// audio and the log on stderr. The error is a *watch.Failure: tool, when ffmpeg
// could not do what it was asked; else undecodable.
func parse(stdout, stderr []byte) (video, audio watch.Track, err error) {
	video = picture.track(frames(stdout, picture.start, picture.end))
	audio = sound.track(frames(stderr, sound.start, sound.end))
	if !video.Present && !audio.Present {
		return video, audio, complaint(stderr)
	}
	rebase(&video, &audio)
	announcedVideo, announcedAudio := announced(stderr)
	video.Present = video.Present || announcedVideo
	audio.Present = audio.Present || announcedAudio
	return video, audio, nil
}

// rebase undoes a beginning before zero. ffmpeg's zero is the first timestamp
// in the container's order, and a decoder may bring out an earlier frame.
func rebase(tracks ...*watch.Track) {
	zero := min(tracks[0].From, tracks[1].From, 0)
	for _, t := range tracks {
		if !t.Present {
			continue
		}
		t.From, t.To = t.From-zero, t.To-zero
		for i := range t.Bad {
			t.Bad[i].From, t.Bad[i].To = t.Bad[i].From-zero, t.Bad[i].To-zero
		}
	}
}

// stream is a track as the log lists it, in the input as in the output:
//
//	Stream #0:0[0x100]: Video: h264 (High) ([27][0][0][0] / 0x001B), yuv420p, 256x144
var stream = regexp.MustCompile(`^\s*Stream #0:\d+[^ ]*: (Video|Audio): `)

// announced tells which tracks the container has, decodable or not.
func announced(log []byte) (video, audio bool) {
	for line := range lines(log) {
		if strings.HasPrefix(line, "Stream mapping:") {
			break // what follows are our own outputs
		}
		m := stream.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "(attached pic)") {
			continue
		}
		video = video || m[1] == "Video"
		audio = audio || m[1] == "Audio"
	}
	return video, audio
}

// ours are complaints about the command, not about the segment.
var ours = []string{
	"error while loading shared libraries",
	"Unrecognized option",
	"Option not found",
	"No such filter",
	"Unknown input format",
	"Requested output format",
	"Protocol not found",
}

// noDecoder is how ffmpeg says that it was built without a decoder for a codec.
// A codec that nobody knows it calls none.
var noDecoder = regexp.MustCompile(`Decoder \(codec [^)]*\) not found`)

// complaint makes a failure of a log without a single frame: of its last error
// or, when nothing is called one, of its last words.
func complaint(log []byte) error {
	last, isError := "ffmpeg did not say why", false
	for line := range lines(log) {
		words := plain(line)
		for _, text := range ours {
			if strings.Contains(line, text) {
				return watch.NewFailure(watch.FailureTool, "ffmpeg cannot do this: %s: version 5.1 or newer is needed, with the usual filters", words)
			}
		}
		if said := noDecoder.FindString(line); said != "" && !strings.Contains(said, "(codec none)") {
			return watch.NewFailure(watch.FailureTool, "this ffmpeg was built without a decoder that the stream needs: %s", said)
		}
		if says := strings.Contains(words, "rror"); words != "" && !closing(words) && (says || !isError) {
			last, isError = words, says
		}
	}
	return watch.NewFailure(watch.FailureUndecodable, "%s", last)
}

// closing tells the lines that ffmpeg ends with whatever the cause was.
func closing(words string) bool {
	for _, prefix := range []string{"Conversion failed", "Last message repeated", "frame=", "size=", "video:", "Output file is empty", "Error opening input", "Error marking filters"} {
		if strings.HasPrefix(words, prefix) {
			return true
		}
	}
	return false
}

// longest is how many bytes of a line of the log are handed on.
const longest = 200

// origin is who speaks in the log: "[h264 @ 0x55d08c833c00] ", possibly nested.
var origin = regexp.MustCompile(`^(\[[^\]]* @ 0x[0-9a-f]+\] *)+`)

// plain makes a line of the log fit for people: it may quote the segment.
func plain(line string) string {
	line = origin.ReplaceAllString(line, "")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, ""))
	line = strings.TrimSpace(line)
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return line
}
