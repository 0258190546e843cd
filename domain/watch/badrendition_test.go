package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTimelinesOfABadRendition(t *testing.T) { // sections 6.8 and S22
	const started = "60 started since 0"
	judging := func(sec int, more ...option) []option {
		return append([]option{threshold(detector.BadRendition, sec), renditions(144, 360, 720), func(w *world) { w.viaMaster = true }}, more...)
	}
	follow(t, []timeline{
		{"black, and back", judging(60, blackIn("/720p/", 150, 400)), 60, 700, started + ", 240 rendition since 180 for 60, 480 rendition_recovered since 180 until 478 for 298",
			[]tasks{analysed(215, 275, 220, 230, 240, 250, 260, 270)}}, // the watched one is not looked at more often
		{"its playlist stands, and the alert has a longer threshold", judging(120, stallsIn("/720p/", 150, 700)), 60, 1000, started + ", 360 rendition since 240 for 120, 780 rendition_recovered since 240 until 778 for 538", nil},
		{"not listed any more, and listed again", judging(60, goneAt(360, 150, 400)), 60, 700, started + ", 240 rendition since 180 for 60, 480 rendition_recovered since 180 until 478 for 298", nil},
		{"not listed for six hours, after which it is forgotten", judging(60, goneAt(360, 150, never)), 60, 22_000, started + ", 240 rendition since 180 for 60, 21780 rendition_recovered since 180 until 21778 for 21598", nil},
		{"one look alone finds it bad", judging(60, noSegmentIn("/720p/", 150, 190)), 60, 700, started, nil},
		{"its server refuses this address", judging(60, failing(watch.FailureRefused), noPlaylistIn("/720p/", 150, 700)), 60, 1000, started, nil},
		{"the whole stream is black", judging(60, black(150, 400)), 60, 700, started + ", 180 blackout since 150 for 30, 402 blackout_recovered since 150 until 400 for 250", nil},
		{"the watched one is in an outage too", judging(60, noPlaylist(170, 400)), 60, 700, started + ", 230 segment_error since 170 for 60 by manifest", nil},
		{"one look before an outage, and one after it", judging(60, stallsIn("/720p/", 100, 460), noPlaylistIn("/144p/", 190, 400)), 60, 900, started + ", 250 segment_error since 190 for 60 by manifest", nil},
		{"a restart while it is bad", judging(60, blackIn("/720p/", 150, 400), restarts(190, 195, 300, 320)), 60, 700, started + ", 245 rendition since 179 for 65, 480 rendition_recovered since 179 until 478 for 299", nil},
		{"the watched one cannot be decoded any more, until another one is watched", judging(60, failing(watch.FailureUndecodable), noSegmentIn("/144p/", 150, 1200)), 60, 1500,
			started + ", 210 segment_error since 150 for 60 by segment, 570 rendition since 510 for 60, 1290 rendition_recovered since 510 until 1288 for 778", nil},
		{"bad for longer than six hours", judging(60, noSegmentIn("/720p/", 150, 22_300)), 60, 23_000, started + ", 240 rendition since 180 for 60, 22440 rendition_recovered since 180 until 22438 for 22258", nil},
	})
}
