package quality_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // it starts tools
)

// Flags behind the package, as in "go test ./test/suite/quality -whole".
var (
	whole  = flag.Bool("whole", false, "play every clip of the corpus, not a sample, and compare with ffmpeg")
	random = flag.Uint64("random", 2, "how many random clips are played")
	seed   = flag.Uint64("seed", 0, "of the first random clip")
)

// intervals are the check intervals.
var intervals = []time.Duration{time.Second, 5 * time.Second, 10 * time.Second}

// startPoints is the number of phases within a check interval from which each
// clip is watched. The phase decides which segments a slow check sees.
const startPoints = 4

// sameAsFFmpeg is how far an onset or a recovery may be from that of ffmpeg.
const sameAsFFmpeg = 50 * time.Millisecond

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryEventIsFoundAndNoFalseAlarmIsGiven(t *testing.T) {
	l := library(t, corpus.Options{})
	pool := decoders(t)
	items := corpus.Sample()
	if *whole {
		items = corpus.Items()
	}
	for _, i := range items {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			clip, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			watchClip(t, clip, l, pool, *whole, func(where string, w watched) {
				for _, wrong := range judge(clip, w) {
					t.Errorf("%s: %s", where, wrong)
				}
			})
		})
	}
}

func TestEachDetectorFindsItsConditionAndNothingElse(t *testing.T) { // section 6.8
	l := library(t, corpus.Options{})
	pool := decoders(t)
	for _, i := range corpus.OfDetectors() {
		if !*whole && !i.Sampled {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			clip, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			watchClip(t, clip, l, pool, false, func(where string, w watched) {
				for _, wrong := range judge(clip, w) {
					t.Errorf("%s: %s", where, wrong)
				}
			})
		})
	}
}

func TestSegmentDecoderFindsWhatFFmpegFindsInRandomClips(t *testing.T) {
	l := library(t, corpus.Options{CacheDir: t.TempDir()})
	pool := decoders(t)
	for n := range *random {
		i := corpus.Random(*seed + n)
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			t.Log(i.Description)
			clip, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			watchClip(t, clip, l, pool, true, func(string, watched) {})
		})
	}
}

func library(t *testing.T, o corpus.Options) *corpus.Library {
	t.Helper()
	l, err := corpus.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func decoders(t *testing.T) *decoder.Pool {
	t.Helper()
	path, err := testtools.Decoder()
	if err != nil {
		t.Fatal(err)
	}
	pool := decoder.New(decoder.Config{Path: path, Timeout: time.Minute, Share: time.Minute}, slog.New(slog.DiscardHandler))
	t.Cleanup(pool.Close)
	return pool
}

// watchClip watches a clip with segment-decoder, at every check interval and from every start
// point, and calls judge with what was found. If compared, ffmpeg alone must find the same.
func watchClip(t *testing.T, clip corpus.Clip, l *corpus.Library, pool *decoder.Pool, compared bool, judge func(where string, w watched)) {
	t.Helper()
	looks := newFallback(clip, l, pool)
	references, err := l.References(t.Context(), clip.Item)
	if err != nil {
		t.Fatal(err)
	}
	command, both := looks.command, &player{clip: clip, references: references, analyser: looks}
	for _, interval := range intervals {
		for start := range startPoints {
			phase := interval * time.Duration(start) / startPoints
			where := fmt.Sprintf("checks every %v, begun %v in", interval, phase)
			got := both.watch(t, interval, phase)
			judge(where, got)
			if !compared {
				continue
			}
			want := command.watch(t, interval, phase)
			if listTypes(got.events) != listTypes(want.events) {
				t.Errorf("%s: events %s, by ffmpeg %s", where, listTypes(got.events), listTypes(want.events))
				continue
			}
			for n, e := range want.events {
				if difference := instantOf(got.events[n].Event).Sub(instantOf(e.Event)); difference.Abs() > sameAsFFmpeg {
					t.Errorf("%s: %s is %s later than by ffmpeg", where, e.Type, difference)
				}
			}
		}
	}
	t.Logf("segment-decoder left %d of %d looks at segments to ffmpeg", looks.left, looks.all)
}

func listTypes(events []received) string {
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

// withFallback asks ffmpeg for what segment-decoder leaves to it.
type withFallback struct {
	decoder   worker.Analyser
	command   *player
	all, left int
}

func newFallback(clip corpus.Clip, l *corpus.Library, pool *decoder.Pool) *withFallback {
	return &withFallback{
		decoder: ffmpeg.New(ffmpeg.Config{Path: "/nonexistent/ffmpeg", Decoder: pool.Stream(slog.New(slog.DiscardHandler))}),
		command: &player{clip: clip, analyser: ffmpeg.New(ffmpeg.Config{Path: l.FFmpeg(), Timeout: 2 * time.Minute})},
	}
}

// Analyse implements worker.Analyser.
func (a *withFallback) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	a.all++
	found, err := a.decoder.Analyse(ctx, s, calm, body, setting)
	if err == nil {
		return found, nil
	}
	a.left++
	return a.command.analyse(ctx, s, calm, setting)
}
