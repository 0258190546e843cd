package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// In these worlds the owner is asked every 30 s, from the start of the watch on, and the watcher learns the answer 5 s later.

func TestThatTheEncoderSendsNothingIsAlertedOnce(t *testing.T) { // S24
	none, some := ownerSees(true, 125, never), ownerSees(false, 0, 125)
	follow(t, []timeline{
		{"before yt-dlp answers that the stream is live", []option{liveFrom(0), stalls(130, never), unanswered(131, never), some, none}, 0, 290,
			"0 started since 0, 215 segment_error since 150 for 65 by no_data", nil},
		{"not while media move", []option{liveFrom(0), some, none}, 0, 600, "0 started since 0", nil},
		{"not when an outage was alerted", []option{liveFrom(0), stalls(100, never), some, none}, 0, 600, "0 started since 0, 165 segment_error since 105 for 60 by stalled", nil},
		{"nor is an outage alerted again", []option{liveFrom(0), stalls(130, never), unanswered(131, 260), some, none}, 0, 900,
			"0 started since 0, 215 segment_error since 150 for 65 by no_data", nil},
		{"before the first media", []option{liveFrom(never), says(watch.Offline, 0, never), ownerSees(true, 0, never)}, 0, 600, "65 segment_error since 0 for 65 by no_data", nil},
		{"nor is it told that the first media cannot be read", []option{liveFrom(300), noPlaylist(290, 900), ownerSees(true, 0, never)}, 0, 600,
			"65 segment_error since 0 for 65 by no_data, 300 started since 300", nil},
		{"not for a moment", []option{liveFrom(never), ownerSees(true, 0, 55), ownerSees(false, 55, never)}, 0, 600, "", nil},
		{"two answers that are a minute apart", []option{liveFrom(never), ownerSees(true, 0, 25), ownerSees(true, 55, never)}, 0, 600, "65 segment_error since 0 for 65 by no_data", nil},
		{"again after data arrived", []option{liveFrom(never), ownerSees(true, 0, 85), ownerSees(false, 85, 115), ownerSees(true, 115, never)}, 0, 600,
			"65 segment_error since 0 for 65 by no_data, 185 segment_error since 120 for 65 by no_data", nil},
		{"it is told also by who is blind", []option{liveFrom(0), unobservable(95, never), ownerSees(false, 0, 500), ownerSees(true, 500, never)}, 0, 700,
			"0 started since 0, 385 error by blind, 575 segment_error since 510 for 65 by no_data", nil},
		{"S11 a restart tells it once", []option{liveFrom(never), ownerSees(true, 0, never), restarts(100, 110)}, 0, 600, "65 segment_error since 0 for 65 by no_data", nil},
	})
}
