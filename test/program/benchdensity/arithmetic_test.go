//go:build linux

package main

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

var began = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestPercentiles(t *testing.T) {
	var hundred []float64
	for i := 100; i > 0; i-- {
		hundred = append(hundred, float64(i))
	}
	if got, want := distributionOf(hundred), (distribution{50, 99, 100}); got != want {
		t.Errorf("of 1 to 100: %+v, want %+v", got, want)
	}
	if got, want := distributionOf([]float64{7}), (distribution{7, 7, 7}); got != want {
		t.Errorf("of one value: %+v, want %+v", got, want)
	}
	if got := distributionOf(nil); got != (distribution{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestEpisodesEndWithinTheMeasurement(t *testing.T) {
	start, end := after(100), after(1000)
	for i := range 20 {
		all := plan(i, began, start, end, 15*time.Second)
		if len(all) < 10 {
			t.Errorf("timeline %d has %d episodes in 15 minutes", i, len(all))
		}
		previous := start
		for _, e := range all {
			if e.from.Before(previous) || e.to.Sub(e.from) < 25*time.Second || e.to.After(end.Add(-lastRecovery)) || e.timeline != i {
				t.Errorf("timeline %d: %+v after %s", i, e, previous)
			}
			previous = e.to.Add(betweenThem - segmentDuration)
		}
	}
	if all := plan(0, began, start, after(130), 15*time.Second); len(all) > 0 {
		t.Errorf("episodes in a measurement that is too short for one: %+v", all)
	}
}

func TestWebhooksAreComparedWithTheTruth(t *testing.T) {
	const threshold = 15 * time.Second
	episodes := []episode{{black, 8, after(100), after(135)}, {black, 8, after(170), after(205)}, {silence, 9, after(100), after(135)}}
	delivery := func(id, monitor, event string, received, startedAt float64) webhookreceiver.Delivery {
		d := webhookreceiver.Delivery{EventID: id, MonitorID: monitor, EventType: event, Received: after(received)}
		d.Data.StartedAt = after(startedAt)
		return d
	}
	deliveries := []webhookreceiver.Delivery{
		delivery("1", "a", black.alert, 50, 30), // before the measurement
		delivery("2", "a", black.alert, 118, 100.25),
		delivery("3", "a", black.recovered, 139, 0),
		delivery("4", "a", black.alert, 187, 169.5),
		delivery("5", "a", black.recovered, 206, 0),
		delivery("6", "b", black.alert, 118, 100), // its trouble is silence
		delivery("7", "calm", black.alert, 118, 100),
		delivery("8", "somebody else's", black.alert, 118, 100),
	}
	timelines := map[string]int{"a": 8, "b": 9, "calm": 0}
	got := compare(episodes, deliveries, timelines, after(90), after(300), threshold)
	if got.Expected != 3 || got.Missed != 1 || got.Unexpected != 2 || got.Recoveries != 2 {
		t.Errorf("%+v, want 3 expected, 1 missed, 2 unexpected, 2 recoveries", got)
	}
	near(t, "the median latency", got.AlertLatency.P50, 2)
	near(t, "the largest latency", got.AlertLatency.Max, 3)
	near(t, "the smaller error", got.OnsetError.P50, 0.25)
	near(t, "the larger error", got.OnsetError.Max, 0.5)
	near(t, "the recovery's latency", got.RecoveryLatency.Max, 4)

	got = compare(episodes, deliveries, timelines, after(90), after(205+lastRecovery.Seconds()-1), threshold)
	if got.Expected != 2 || got.Unexpected != 2 {
		t.Errorf("interrupted before the recovery of the second episode: %+v, want 2 expected, and its alert not unexpected", got)
	}
}

func TestTheMediaServerSeesLateChecks(t *testing.T) {
	c := newTraffic(10 * time.Second)
	check := func(video string, at float64) {
		c.request(youtube.Request{Class: youtube.Playlist, Video: video, At: after(at)})
	}
	for _, at := range []float64{0, 10.9, 22, 30} { // late by 0.9 s and 1.1 s, then early
		check("a", at)
	}
	check("b", 5)
	check("b", 25.5) // more than an interval late
	check(yardstickID, 0)
	check(yardstickID, 100)
	if got, want := c.count(true), (counters{Checks: 6, Late: 2, LateByInterval: 1, LargestSec: 10.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	check("a", 70) // 40 s after the one before the reset
	if got, want := c.count(false), (counters{Checks: 1, Late: 1, LateByInterval: 1, LargestSec: 30}); got != want {
		t.Errorf("after a reset: %+v, want %+v", got, want)
	}
}

func TestTheMediaServerSeesWhichStreamsAreWatched(t *testing.T) {
	c := newTraffic(10 * time.Second)
	c.segment("a", after(1))
	c.segment("b", after(2))
	c.segment("a", after(3))
	if got, want := c.count(true), (counters{Watched: 2, WatchedAt: after(2)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.segment("b", after(9))
	if got := c.count(false); got.Watched != 1 || !got.WatchedAt.Equal(after(9)) {
		t.Errorf("after a reset: %+v", got)
	}
	c.request(youtube.Request{Class: youtube.Watch, Video: "a"})
	c.request(youtube.Request{Class: youtube.Watch, Video: yardstickID})
	c.request(youtube.Request{Class: youtube.Player, Video: "a"})
	if got := c.count(false); got.Questions != 1 {
		t.Errorf("%d questions, want that for a", got.Questions)
	}
}

func TestToolsAreNamed(t *testing.T) {
	for cmdline, want := range map[string]string{
		"/usr/bin/ffmpeg\x00-i\x00pipe:0":                          "ffmpeg",
		"/x/segment-decoder-12\x00":                                "segment-decoder-12",
		"/x/venv/bin/python3\x00/x/venv/bin/yt-dlp\x00--dump-json": "yt-dlp",
		"/x/venv/bin/python3.11\x00-c\x00import sys":               "yt-dlp that stays up",
	} {
		if got := toolName(cmdline); got != want {
			t.Errorf("%q is named %q, want %q", cmdline, got, want)
		}
	}
}

func TestAnInterruptedWindowIsDescribed(t *testing.T) {
	before := snapshot{at: after(0), transactions: 5, machine: time.Minute}
	later := snapshot{at: after(1800), transactions: 1805, machine: time.Hour}
	later.product, later.server, later.yardstick = 10*time.Second, time.Minute, time.Minute
	var r result
	r.describeWindow(before, later, 2)
	near(t, "the gateway's CPU", r.CPUSecPerStreamHour.Gateway, 10)
	near(t, "transactions", r.TransactionsPerSec, 1)
	near(t, "others", r.OtherCores, float64(3540-130)/1800)
	if r.Duration != 30*time.Minute {
		t.Errorf("it took %s", r.Duration)
	}
	r = result{}
	if r.describeWindow(before, before, 2); r.Duration != 0 || r.CPUSecPerStreamHour != (parts{}) {
		t.Errorf("interrupted at once: %+v", r)
	}
}

func TestAStatFileIsParsed(t *testing.T) {
	s, err := parseStat([]byte("42 (a name) with) S 7 42 42 0 -1 4194304 9 9 9 9 150 50 30 20 20 0 1 0 99 0 0"))
	if want := (processStat{parent: 7, own: 2 * time.Second, children: 500 * time.Millisecond}); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	if _, err := parseStat([]byte("42 (short) S 7")); err == nil {
		t.Error("a short file is accepted")
	}
}

func TestToolsAreTakenForWhatTheyAre(t *testing.T) {
	for cmdline, want := range map[string]role{
		"/usr/bin/ffmpeg\x00-i\x00pipe:0":                            analyser,
		"/opt/stream-monitor-analyser\x00":                           analyser,
		"/x/venv/bin/python3\x00/x/venv/bin/yt-dlp\x00--dump-json":   resolver,
		"/x/venv/bin/python3.11\x00-c\x00import sys":                 resolver,
		"/bin/sh\x00/x/yt-dlp":                                       resolver,
		"/x/bin/stream-monitor\x00worker":                            product,
		"/x/venv/bin/python3\x00/x/venv/bin/streamlink\x00--version": resolver,
	} {
		if got := roleOf(cmdline); got != want {
			t.Errorf("%q has role %d, want %d", cmdline, got, want)
		}
	}
}

func TestCPUTimeIsDividedByStreamHours(t *testing.T) {
	before := usage{cpuByRole: cpuByRole{time.Second, 2 * time.Second, 0}, postgres: 3 * time.Second}
	later := usage{cpuByRole: cpuByRole{5 * time.Second, 12 * time.Second, time.Second}, postgres: 5 * time.Second, server: time.Minute}
	got := partsOf(before, later, 2)
	if want := (parts{Gateway: 2, Analyser: 5, Resolver: 0.5, PostgreSQL: 1, MediaServer: 30}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	near(t, "the sum", got.all(), 8.5) // without the media server
}

func TestTheYardstickIsPerStreamHour(t *testing.T) {
	sticks := []yardstick{{ffmpeg: 20 * time.Second, ytdlp: 4 * time.Second, segments: 10, asks: 4}, {ffmpeg: 10 * time.Second, ytdlp: 2 * time.Second, segments: 10, asks: 2}}
	got := costOf(sticks, 30*time.Minute)
	near(t, "the cost", got.CPUSecPerStreamHour, 36)
	near(t, "ffmpeg's", got.FFmpegSec, 1.5)
	near(t, "yt-dlp's", got.YTDLPSec, 1)
	if got := costOf(nil, time.Hour); got != (yardstickCost{}) {
		t.Errorf("without a stream: %+v", got)
	}
}

func TestAResultIsPrinted(t *testing.T) {
	some := distribution{1, 2, 3}
	r := result{
		Streams: 7, Duration: time.Minute, Tools: []string{"a decoder (2)"}, Yardstick: yardstickCost{Streams: 1},
		counters: counters{Checks: 42}, accuracy: accuracy{Expected: 5, Missed: 1, AlertLatency: some, Recoveries: 4},
		Storms: []storm{{Name: "restart", AlertLatency: some, counters: counters{Watched: 7, Questions: 9}}, {Name: "stall", Failure: "it broke"}},
		Notes:  []string{"a note"},
	}
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"7 streams for 1m0s", "a decoder (2)", "42; 0 late", "4 of 5 came", "p50 1.00 s, p99 2.00 s", "4 recoveries", "7 of 7 watched", "9 questions", "it broke", "a note"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out.String(), "%!") {
		t.Error("a value does not match its format")
	}
	if t.Failed() {
		t.Log(out.String())
	}
	out.Reset()
	result{Streams: 7, Storms: r.Storms}.print(&out)
	if strings.Contains(out.String(), "stream-hour") || !strings.Contains(out.String(), "7 of 7 watched") {
		t.Errorf("storms only:\n%s", &out)
	}
}

func TestThePeakIsTheLargestOfEach(t *testing.T) {
	r := resources{GatewayBytes: 5, Goroutines: 1}
	r.keepLargest(resources{GatewayBytes: 3, Goroutines: 9, Descriptors: 2})
	if want := (resources{GatewayBytes: 5, Goroutines: 9, Descriptors: 2}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

func TestFlagsOutOfRangeAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-n", "0"}, {"-n", "10,x"}, {"-for", "10s"}, {"-interval", "0"}, {"-trouble", "101"},
		{"-starting", "0"}, {"-runtime", "kubernetes"}, {"more"}, {"-settle", "-1s"}, {"-for", "0"}, {"-storms", "-runtime", "process"},
	} {
		if code := command(t.Context(), args, io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
	o, err := parseFlags([]string{"-n", "20, 60", "-env", "A=B"}, io.Discard)
	if err != nil || len(o.counts) != 2 || o.counts[1] != 60 || o.duration != 15*time.Minute || len(o.env) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
	if code := command(t.Context(), []string{"--help"}, io.Discard, io.Discard); code != exitMeasured {
		t.Errorf("--help: exit code %d", code)
	}
}

func TestAFewStreamsHaveBothKindsOfTrouble(t *testing.T) {
	for n, want := range map[int]int{1: 1, 10: 2, 100: 10, 1000: 100} {
		m := &run{options: options{trouble: 10}, n: n}
		if got := m.troubled(); got != want {
			t.Errorf("%d of %d streams have trouble, want %d", got, n, want)
		}
		videos := m.videos()
		if videos.Timelines != calmTimelines+min(want, maxTroubled) || len(videos.Videos) != n+1 {
			t.Errorf("%d streams: %d timelines, %d videos", n, videos.Timelines, len(videos.Videos))
		}
	}
}
