package watch_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestMediaThatFailForAMinuteAreAnOutage(t *testing.T) { // 6.6, S5, S6, S7
	answering := func(from float64, change func(*watch.Resolution)) option {
		return func(w *world) {
			w.changeAnswer = func(r *watch.Resolution) {
				if sec(r.Began) > from {
					change(r)
				}
			}
		}
	}
	onlyFallback := answering(195, func(r *watch.Resolution) { r.State, r.ActualStart = watch.ManifestFound, time.Time{} })
	follow(t, []timeline{
		{"one that is over when it could be alerted is not alerted", []option{noPlaylist(195, 270), unanswered(195, 400)}, 100, 1000,
			"100 started since 0", nil},
		{"it is alerted when its question is answered later, and the media were looked at again", []option{noPlaylist(195, 600), unanswered(195, 320)}, 100, 350,
			"100 started since 0, 345 segment_error since 200 for 145 by manifest", nil},
		{"failing segments under a moving playlist, which proves that the stream is live", []option{noSegment(195, never), unanswered(195, never)}, 100, 3600,
			"100 started since 0, 260 segment_error since 200 for 60 by segment", nil},
		// The backoff belongs to the new cause.
		{"two failures are one", []option{noSegment(195, 230), noPlaylist(230, never)}, 100, 900,
			"100 started since 0, 260 segment_error since 200 for 60 by manifest", []tasks{read(225, 265, 230, 235, 245, 260, 260)}},
		{"since the earlier of two failures", []option{stalls(150, never), noPlaylist(195, 212)}, 100, 230,
			"100 started since 0, 215 segment_error since 150 for 65 by stalled", []tasks{read(195, 230, 200, 205, 215, 215, 225)}},
		{"bad media are not joined across a long one", []option{checksEvery(2), noPlaylist(102.5, 1000), black(100, 102, 1000, 1003)}, 50, 1300,
			"50 started since 0, 164 segment_error since 104 for 60 by manifest", nil}, // S20
		{"but alerted ones go on until media are good", []option{noPlaylist(145, 1000), black(100, 1090)}, 50, 1300,
			"50 started since 0, 130 blackout since 100 for 30, 206.5 segment_error since 146.5 for 60 by manifest, 1092 blackout_recovered since 100 until 1090 for 990", nil},
		{"refused URLs that no answer replaces", []option{failing(watch.FailureExpired), noPlaylist(195, never), takes(watch.TaskResolve, 1), takes(watch.TaskPlaylist, 0.1),
			answering(195, func(r *watch.Resolution) { r.Manifest, r.Detail = "", "the encoder sends nothing" })}, 100, 600,
			"101 started since 0, 262.1 segment_error since 201 for 61 by manifest", nil},
		{"refused segments, when only the fallback answers", []option{noSegment(195, 300), failing(watch.FailureExpired), onlyFallback}, 100, 400,
			"100 started since 0, 260 segment_error since 200 for 60 by segment", nil}, // 5.2
		{"unreachable segments, when only the fallback answers", []option{noSegment(195, 300), onlyFallback}, 100, 400,
			"100 started since 0, 260 segment_error since 200 for 60 by segment", nil},
		{"every second segment that is refused is none", []option{checksEvery(2), failing(watch.FailureExpired), black(200, 260), failsSegments(everySecond)}, 50, 600,
			"50 started since 0, 232 blackout since 202 for 30, 264 blackout_recovered since 202 until 262 for 60", nil},
		{"one for an hour is no blindness, however long answers take", []option{noPlaylist(200, never), takes(watch.TaskResolve, 40)}, 100, 3600, "140 started since 0, 350 segment_error since 200 for 150 by manifest", nil}, // S15
		// The newest segment is first analysed when its playlist has not moved for a minute.
		{"media from before a standstill do not end it", []option{checksEvery(300), stalls(115, 1000)}, 100, 1500,
			"100 started since 0, 190 segment_error since 130 for 60 by stalled", nil},
	})
}

func TestALiveStreamWithoutUsableMediaIsAnOutage(t *testing.T) { // 6.6, 7.3
	for name, found := range map[string]func(*watch.Resolution){
		"none of it HLS":    func(r *watch.Resolution) { r.Manifest, r.Detail = "", "none of it is HLS" },
		"only of subtitles": func(r *watch.Resolution) { r.Renditions = []watch.Rendition{{URL: "https://media.test/s"}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, scheduled(0), func(w *world) { w.changeAnswer = found }).from(100).until(390)
			w.expect("100 started since 0, 160 segment_error since 100 for 60 by manifest")
			w.expectBegun(watch.TaskResolve, span{100, 390}, 100, 105, 115, 135, 160, 220, 280, 340)
			w.changeAnswer = nil
			w.until(405)
			w.expectBegun(watch.TaskSegment, span{100, 405}, 400)
		})
	}
}

// A server refuses at once, and later hangs. The question is answered after the limit of the outage, and before the failure
// that proves it.
func TestAQuestionThatWasAnsweredTooEarlyDelaysNoAlert(t *testing.T) { // S6
	w := scenario(t, noSegment(200, never), failing(watch.FailureExpired)).from(50).until(255)
	w.taskTime[watch.TaskSegment] = 12
	w.until(400).expect("50 started since 0, 272 segment_error since 200 for 72 by segment")
}
