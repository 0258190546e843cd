package watch_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// ownStream is a stream of one's own, at a URL that outlives its broadcasts.
func ownStream(w *world) { w.rules.Lasting = true }

// deniedAs lets the server refuse the credentials for a time: of readings and of questions.
func deniedAs(kind watch.FailureKind, from, to float64) option {
	return func(w *world) {
		noPlaylist(from, to)(w)
		failing(kind)(w)
		says(watch.Denied, from, to)(w)
	}
}

// serverDown lets the server refuse connections for a time.
func serverDown(from, to float64) option {
	return func(w *world) {
		noPlaylist(from, to)(w)
		says(watch.ServerDown, from, to)(w)
	}
}

func TestTimelinesOfAStreamOfOnesOwn(t *testing.T) { // sections 5.7 and 7.6
	const started = "0 started since 0"
	follow(t, []timeline{
		{"its playlist is gone, and comes back", []option{ownStream, mountGone(95, 300)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"its credentials are refused", []option{ownStream, deniedAs(watch.FailureDenied, 95, 900)}, 0, 1200, started + ", 155 segment_error since 95 for 60 by denied", nil},
		{"it names other URLs now, and denies the old ones", []option{ownStream, noPlaylistIn("media.test/1/", 95, 600), failing(watch.FailureDenied)}, 0, 600, started, nil},
		{"its token expires", []option{ownStream, deniedAs(watch.FailureToken, 95, 900)}, 0, 1200, started + ", 155 segment_error since 95 for 60 by token", nil},
		{"its token expires after the scheduled end", []option{ownStream, scheduledEnd(50), deniedAs(watch.FailureToken, 95, 900)}, 0, 1200, started + ", 155 segment_error since 95 for 60 by token", nil},
		{"its credentials are wrong from the beginning", []option{ownStream, says(watch.Denied, 0, never)}, 0, 600, "0 error by access_denied", nil},
		{"they are refused until it begins", []option{ownStream, scheduled(100), liveFrom(150), says(watch.Denied, 0, 150)}, 0, 600, "150 started since 150", nil},
		{"they are refused until it is late", []option{ownStream, scheduled(100), says(watch.Denied, 0, never)}, 0, 600, "430 error by access_denied", nil},
		{"its server is lost for 50 s", []option{ownStream, serverDown(95, 145)}, 0, 600, started, nil},
		{"its server is lost for 90 s", []option{ownStream, serverDown(95, 185)}, 0, 600, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"its server is lost for good", []option{ownStream, serverDown(95, never)}, 0, 9000, started + ", 155 segment_error since 95 for 60 by manifest", nil},
		{"its server is lost until the scheduled end", []option{ownStream, scheduledEnd(700), serverDown(95, never)}, 0, 1200, started + ", 155 segment_error since 95 for 60 by manifest, 755 ended until 84 for 84 by not_live", nil},
		{"its server answers no question, but the media", []option{ownStream, says(watch.ServerDown, 95, never)}, 0, 9000, started, nil},
		{"its server comes when it begins", []option{ownStream, liveFrom(150), says(watch.ServerDown, 0, 150)}, 0, 600, "150 started since 150", nil},
		{"its server does not answer", []option{ownStream, unobservable(95, 185)}, 0, 600, started, nil},
		{"its server does not answer for long", []option{ownStream, unobservable(95, 900)}, 0, 1200, started + ", 385 error by blind", nil},
		{"the recording of yesterday is there until it begins", []option{ownStream, scheduled(100), liveFrom(150), says(watch.NotALiveStream, 0, 150)}, 0, 600, "150 started since 150", nil},
		{"a recording is there, and nothing is scheduled", []option{ownStream, says(watch.NotALiveStream, 0, never)}, 0, 600, "0 error by not_a_live_stream", nil},
	})
	for _, state := range []watch.StreamState{watch.Denied, watch.ServerDown} {
		w := scenario(t, ownStream, scheduled(100), says(state, 0, never)).until(50)
		if v := w.watcher.Report().Visibility; !strings.HasPrefix(v.LastError, string(state)+": ") || !v.Unseen.Since.IsZero() {
			t.Errorf("while it is %s before its start, what is told is %+v", state, v)
		}
	}
}
