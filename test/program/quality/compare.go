package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// sameAsFFmpeg is how far an onset or a recovery may be from that of ffmpeg.
const sameAsFFmpeg = 50 * time.Millisecond

// comparison says how segment-decoder differs from ffmpeg on one item.
type comparison struct {
	looks, left int           // looks at segments, and how many of them segment-decoder left to ffmpeg
	compared    int           // watches
	alerts      int           // of ffmpeg, in all watches
	largest     time.Duration // difference of an instant
	differences []string      // as text
}

// command returns the ffmpeg of production.
func (t tools) command() worker.Analyser {
	return ffmpeg.New(ffmpeg.Config{Path: t.ffmpeg, Timeout: 2 * time.Minute})
}

// decoder returns the analyser of production with segment-decoder. It counts what that
// leaves to ffmpeg, and asks command.
func (t tools) decoder(command *clipPlayer, c *comparison) worker.Analyser {
	stream := t.pool.Stream(slog.New(slog.DiscardHandler))
	return countingAnalyser{ffmpeg.New(ffmpeg.Config{Path: "/nonexistent/ffmpeg", Decoder: stream}), command, c}
}

// countingAnalyser counts what segment-decoder leaves to ffmpeg.
type countingAnalyser struct {
	decoder worker.Analyser
	command *clipPlayer
	count   *comparison
}

// Analyse implements worker.Analyser.
func (a countingAnalyser) Analyse(ctx context.Context, s watch.Segment, calm watch.Calm, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	a.count.looks++
	found, err := a.decoder.Analyse(ctx, s, calm, body, setting)
	if err == nil {
		return found, nil
	}
	a.count.left++
	return a.command.analyse(ctx, s, calm, setting)
}

// add compares the events of a watch with those that follow from what ffmpeg finds.
func (c *comparison) add(where string, got, want []receivedEvent) {
	c.compared++
	differ := func(format string, args ...any) {
		c.differences = append(c.differences, where+": "+fmt.Sprintf(format, args...))
	}
	if listTypes(got) != listTypes(want) {
		differ("events %s, by ffmpeg %s", listTypes(got), listTypes(want))
		return
	}
	for n := range want {
		instant, expected := instantOf(got[n].Event), instantOf(want[n].Event)
		if _, is := want[n].Data.(event.Alert); is {
			c.alerts++
		}
		difference := instant.Sub(expected).Abs()
		c.largest = max(c.largest, difference)
		if difference > sameAsFFmpeg {
			differ("%s of %.3f s, by ffmpeg of %.3f s", want[n].Type, instant.Sub(epoch).Seconds(), expected.Sub(epoch).Seconds())
		}
	}
}

func listTypes(events []receivedEvent) string {
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

// instantOf returns the instant in the media that an event is about; zero: it is about none.
func instantOf(e event.Event) time.Time {
	switch data := e.Data.(type) {
	case event.Alert:
		return data.StartedAt
	case event.Recovered:
		return data.RecoveredAt
	}
	return time.Time{}
}

// randomName is how the names of random items begin.
const randomName = "random "

// isRandom reports whether an item has no truth to compare with.
func isRandom(i corpus.Item) bool { return strings.HasPrefix(i.Name, randomName) }

// totalComparison sums up how segment-decoder differs from ffmpeg.
func totalComparison(results []result) (sum comparison) {
	for _, r := range results {
		sum.looks, sum.left, sum.compared, sum.alerts = sum.looks+r.looks, sum.left+r.left, sum.compared+r.compared, sum.alerts+r.alerts
		sum.largest = max(sum.largest, r.largest)
		for _, d := range r.differences {
			sum.differences = append(sum.differences, fmt.Sprintf("%s (%s): %s", r.item.Name, r.item.Description, d))
		}
	}
	return sum
}

// newPool returns a pool of the program at path.
func newPool(path string) *decoder.Pool {
	return decoder.New(decoder.Config{Path: path, Timeout: time.Minute, Share: time.Minute}, slog.New(slog.DiscardHandler))
}
