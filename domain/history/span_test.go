package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// healthy is the report of a worker that sees everything.
func healthy(second int) monitor.Report {
	return monitor.Report{At: at(second), Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.OK, Audio: monitor.OK}, Visibility: &monitor.Visibility{}}
}

// heartbeats returns healthy reports every 10 s, changed by change.
func heartbeats(from, to int, change func(*monitor.Report)) (reports []monitor.Report) {
	for second := from; second <= to; second += 10 {
		r := healthy(second)
		if change != nil {
			change(&r)
		}
		reports = append(reports, r)
	}
	return reports
}

// show writes spans as "lane state from-to", in seconds after noon.
func show(spans []history.Span, lane history.Lane) string {
	var words []string
	for _, s := range spans {
		if s.Lane == lane {
			words = append(words, fmt.Sprintf("%s %v-%v", s.State, s.From.Sub(noon).Seconds(), s.To.Sub(noon).Seconds()))
		}
	}
	return strings.Join(words, ", ")
}

func TestSpansFollowTheReports(t *testing.T) {
	join := func(parts ...[]monitor.Report) (all []monitor.Report) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	with := func(r monitor.Report, change func(*monitor.Report)) []monitor.Report {
		change(&r)
		return []monitor.Report{r}
	}
	signal := func(c trouble.Name, from, to int) monitor.Signal {
		s := monitor.Signal{Condition: c, StartedAt: at(from)}
		if to > 0 {
			s.EndedAt = at(to)
		}
		return s
	}
	noTracks := func(r *monitor.Report) { r.Health = monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown} }
	unseenSince := func(second int) func(*monitor.Report) {
		return func(r *monitor.Report) {
			noTracks(r)
			r.Visibility.LastObservedAt = at(second)
		}
	}
	noPicture := func(r *monitor.Report) { r.Health.Video = monitor.Unknown }
	black := func(r *monitor.Report) { r.Health.Video = monitor.Black }
	outOfMedia := func(r *monitor.Report) {
		noTracks(r)
		r.Signals = []monitor.Signal{signal(trouble.NoMedia, 5, 0)}
	}
	paused := func(r *monitor.Report) { *r = r.InPause(r.At) }
	blind := func(r *monitor.Report) {
		noTracks(r)
		r.Visibility.BlindSince = at(5)
	}
	waiting := func(r *monitor.Report) {
		noTracks(r)
		r.Status, r.StreamStatus = monitor.Waiting, monitor.StreamUpcoming
	}
	for name, c := range map[string]struct {
		reports []monitor.Report
		until   int // when the open spans are closed
		want    map[history.Lane]string
	}{
		"black and silence have spans of their lanes alone": {
			join(heartbeats(0, 10, nil), heartbeats(20, 40, func(r *monitor.Report) { r.Health.Video = monitor.Black }),
				heartbeats(50, 60, func(r *monitor.Report) { r.Health.Audio = monitor.Silent }), heartbeats(70, 70, nil)), 75,
			map[history.Lane]string{"stream": "live 0-75", "video": "ok 0-20, black 20-50, ok 50-75", "audio": "ok 0-50, silent 50-70, ok 70-75"},
		},
		"without reports for more than 90 s the state is unknown": {
			join(heartbeats(0, 20, nil), heartbeats(120, 130, nil)), 135,
			map[history.Lane]string{"stream": "live 0-20, unknown 20-120, live 120-135", "segments": "ok 0-20, unknown 20-120, ok 120-135"},
		},
		"without reports for 90 s the state stays": {
			join(heartbeats(0, 20, nil), heartbeats(110, 110, nil)), 115,
			map[history.Lane]string{"stream": "live 0-115"},
		},
		"since the last report the state is unknown": {
			heartbeats(0, 20, nil), 500,
			map[history.Lane]string{"stream": "live 0-20, unknown 20-500", "video": "ok 0-20, unknown 20-500"},
		},
		"unknown goes on through a gap": {
			join(heartbeats(0, 20, noTracks), heartbeats(300, 300, nil)), 305,
			map[history.Lane]string{"video": "unknown 0-300, ok 300-305"},
		},
		"an outage lasts from its onset until its signal of the end": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 90, noTracks), with(healthy(100), func(r *monitor.Report) {
				r.Signals = []monitor.Signal{signal(trouble.NoMedia, 5, 95)}
			})), 105,
			map[history.Lane]string{"stream": "live 0-105", "segments": "ok 0-5, no_media 5-95, ok 95-105", "video": "ok 0-60, unknown 60-100, ok 100-105"},
		},
		"signals that come twice change nothing": {
			join(heartbeats(0, 90, nil), heartbeats(100, 120, func(r *monitor.Report) {
				r.Signals = []monitor.Signal{signal(trouble.NoMedia, 5, 0), signal(trouble.NoMedia, 5, 95)}
			})), 125,
			map[history.Lane]string{"segments": "ok 0-5, no_media 5-95, ok 95-125"},
		},
		"blind time is neither good nor an outage": {
			join(heartbeats(0, 20, nil), heartbeats(30, 310, unseenSince(18)), heartbeats(320, 350, func(r *monitor.Report) {
				unseenSince(18)(r)
				r.StreamStatus, r.Visibility.BlindSince = monitor.StreamUnknown, at(18)
			}), heartbeats(360, 360, nil)), 365,
			map[history.Lane]string{
				"stream": "live 0-18, blind 18-360, live 360-365", "video": "ok 0-18, unknown 18-360, ok 360-365",
				"audio": "ok 0-18, unknown 18-360, ok 360-365", "segments": "ok 0-18, unknown 18-360, ok 360-365",
			},
		},
		"an outage pauses while the watch is blind": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 390, unseenSince(65)), with(healthy(400), func(r *monitor.Report) {
				unseenSince(65)(r)
				r.Visibility.BlindSince = at(65)
				r.Signals = []monitor.Signal{signal(trouble.NoMedia, 5, 65), signal(trouble.Blind, 65, 0)}
			}), with(healthy(410), func(r *monitor.Report) {
				noTracks(r)
				r.Signals = []monitor.Signal{signal(trouble.Blind, 65, 410), signal(trouble.NoMedia, 410, 0)}
			}), heartbeats(420, 430, noTracks)), 435,
			map[history.Lane]string{
				"stream": "live 0-65, blind 65-410, live 410-435", "segments": "ok 0-5, no_media 5-65, unknown 65-410, no_media 410-435",
			},
		},
		"blind time is not watched, also if no signal has ended the outage before it": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 390, noTracks), heartbeats(400, 410, func(r *monitor.Report) {
				unseenSince(65)(r)
				r.Visibility.BlindSince = at(65)
			})), 415,
			map[history.Lane]string{"stream": "live 0-65, blind 65-415", "segments": "ok 0-5, no_media 5-65, unknown 65-415"},
		},
		"an outage whose signal of the end was lost ends when both tracks are known": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 90, noTracks), heartbeats(100, 110, black)), 115,
			map[history.Lane]string{"segments": "ok 0-5, no_media 5-100, ok 100-115"},
		},
		"an outage of the picture alone does not end with the sound": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 90, noPicture)), 95,
			map[history.Lane]string{"segments": "ok 0-5, no_media 5-95", "audio": "ok 0-60, unknown 60-70, ok 70-95"},
		},
		"an outage whose signal of the end was lost with all reports for a while": {
			join(heartbeats(0, 50, nil), with(healthy(60), outOfMedia), heartbeats(70, 90, noTracks), heartbeats(300, 310, nil)), 315,
			map[history.Lane]string{"segments": "ok 0-5, no_media 5-90, unknown 90-300, ok 300-315"},
		},
		"a stream that does not start is late until it does": {
			join(heartbeats(0, 20, waiting), with(healthy(30), func(r *monitor.Report) {
				waiting(r)
				r.Events = []event.Event{{Type: event.StreamDelayed}}
			}), heartbeats(40, 50, waiting), heartbeats(60, 60, nil)), 65,
			map[history.Lane]string{"stream": "upcoming 0-30, late 30-60, live 60-65", "segments": "unknown 0-60, ok 60-65"},
		},
		"a late stream that is rescheduled is not late until the new start has passed": {
			join(heartbeats(0, 20, waiting), with(healthy(30), func(r *monitor.Report) {
				waiting(r)
				r.Events = []event.Event{{Type: event.StreamDelayed}}
			}), heartbeats(40, 50, waiting), with(healthy(60), func(r *monitor.Report) {
				waiting(r)
				r.Signals = []monitor.Signal{signal(trouble.Late, 20, 58)}
			}), heartbeats(70, 80, waiting), with(healthy(90), func(r *monitor.Report) {
				waiting(r)
				r.Events = []event.Event{{Type: event.StreamDelayed}}
			})), 95,
			map[history.Lane]string{"stream": "upcoming 0-30, late 30-58, upcoming 58-90, late 90-95"},
		},
		"a start that was late and is moved in one report is not late": {
			join(heartbeats(0, 20, waiting), with(healthy(30), func(r *monitor.Report) {
				waiting(r)
				r.Events = []event.Event{{Type: event.StreamDelayed, At: at(22)}}
				r.Signals = []monitor.Signal{signal(trouble.Late, 10, 25)}
			}), heartbeats(40, 50, waiting)), 55,
			map[history.Lane]string{"stream": "upcoming 0-55"},
		},
		"the end of the monitor ends every lane": {
			join(heartbeats(0, 20, nil), with(healthy(30), func(r *monitor.Report) { r.Status, r.StreamStatus = monitor.Completed, monitor.StreamEnded })), 500,
			map[history.Lane]string{"stream": "live 0-30", "video": "ok 0-30", "segments": "ok 0-30"},
		},
		"a clock that is set back shortens no span below nothing": {
			join(heartbeats(100, 120, nil), heartbeats(0, 20, func(r *monitor.Report) { r.Health.Video = monitor.Black })), 130,
			map[history.Lane]string{"stream": "live 100-130", "video": "ok 100-120, black 120-130"},
		},
		"a pause is neither trouble nor unknown, from its begin until its end": {
			join(heartbeats(0, 20, black), heartbeats(30, 200, paused), with(healthy(210), unseenSince(18)), heartbeats(220, 230, nil)), 235,
			map[history.Lane]string{"stream": "live 0-30, paused 30-210, live 210-235", "video": "black 0-30, paused 30-210, unknown 210-220, ok 220-235",
				"audio": "ok 0-30, paused 30-210, unknown 210-220, ok 220-235", "segments": "ok 0-30, paused 30-210, unknown 210-220, ok 220-235"},
		},
		"a pause of a stream that is blind, or out of media, ends both": {
			join(heartbeats(0, 10, nil), heartbeats(20, 20, blind), with(healthy(30), outOfMedia), heartbeats(40, 90, paused), heartbeats(100, 110, nil)), 115,
			map[history.Lane]string{"stream": "live 0-5, blind 5-30, live 30-40, paused 40-100, live 100-115", "segments": "ok 0-5, no_media 5-40, paused 40-100, ok 100-115"},
		},
		"a pause needs no reports until its planned end": {
			join(heartbeats(0, 10, nil), heartbeats(20, 20, paused), heartbeats(900, 910, nil)), 915,
			map[history.Lane]string{"stream": "live 0-20, paused 20-600, unknown 600-900, live 900-915", "video": "ok 0-20, paused 20-600, unknown 600-900, ok 900-915"},
		},
		"a pause that goes on needs no reports": {
			join(heartbeats(0, 10, nil), heartbeats(20, 20, paused)), 500,
			map[history.Lane]string{"stream": "live 0-20, paused 20-500", "audio": "ok 0-20, paused 20-500"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var current history.Current
			var spans []history.Span
			for _, r := range c.reports {
				after, closed := history.Observe(current, r)
				spans, current = append(spans, closed...), after
				current.PausedUntil = at(600)
			}
			spans = append(spans, history.Close(current, at(c.until))...)
			for lane, want := range c.want {
				if got := show(spans, lane); got != want {
					t.Errorf("%s: %s\nwant %s", lane, got, want)
				}
			}
		})
	}
}

// The store rounds times to microseconds, and keeps one span of a lane for each beginning.
func TestWhatIsRoundedAwayIsNoSpan(t *testing.T) {
	seen := at(100).Add(300 * time.Nanosecond)
	stored := history.Current{Lanes: map[history.Lane]history.Open{history.Stream: {State: history.Unknown, Since: seen.Round(time.Microsecond)}}, Seen: at(390)}
	_, spans := history.Observe(stored, monitor.Report{
		At: at(400), Status: monitor.Monitoring, StreamStatus: monitor.StreamUnknown,
		Visibility: &monitor.Visibility{BlindSince: seen, LastObservedAt: seen},
	})
	if len(spans) != 0 {
		t.Errorf("the blindness that began with the unknown time closes %v", spans)
	}
}
