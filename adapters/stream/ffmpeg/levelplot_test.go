package ffmpeg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/levelplot"
)

// uploads keeps the evidence of one segment in memory.
type uploads struct {
	segment []byte
	mu      sync.Mutex
	files   map[evidence.Variant][]byte
}

func (u *uploads) FetchSegment(context.Context, watch.Segment) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(u.segment)), nil
}

func (u *uploads) ReadPlaylist(context.Context, string) watch.Playlist { return watch.Playlist{} }

func (u *uploads) AddEvidence(_ context.Context, up evidence.Upload, body io.Reader) (err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if up.File != nil {
		u.files[up.File.Variant], err = io.ReadAll(body)
	}
	return err
}

// file is a temporary file in memory.
type file struct{ content []byte }

func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	f.content = append(f.content[:offset], p...)
	return len(p), nil
}

func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	return bytes.NewReader(f.content).ReadAt(p, offset)
}

func (f *file) Close() error { return nil }

// A tone is switched off and on again. A person who reads the plot finds both times.
func TestTheLevelPlotShowsWhenAToneWasSwitchedOff(t *testing.T) { // section 16.2
	const off, on = 12.3, 20.6
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := &uploads{segment: scene{seconds: 30, silent: [][2]float64{{off, on}}}.make(t), files: map[evidence.Variant][]byte{}}
	c := collector.Start(t.Context(), collector.Ports{
		Tools: newCapturer(t), Segments: u, Playlists: u, Store: u,
		TempFile: func() (collector.TempFile, error) { return &file{}, nil },
	}, collector.Config{NewID: func() string { return "id" }, Reported: func(context.Context) {}}, slog.New(slog.DiscardHandler))
	c.Add(capture.Job{
		Key: "silent", Step: capture.Complete, Fetch: true, Condition: "silent", Phase: evidence.RecoveryPhase, EventID: "event", Instant: start.Add(seconds(off)), SilenceDB: -50,
		Tracks:     []capture.Track{{Audio: true, Segments: []watch.Segment{{URI: "segment", Duration: 30 * time.Second, ProgramTime: start}}}},
		LevelsFrom: start.Add(-time.Minute), LevelsTo: start.Add(time.Minute),
	})
	c.Stop(time.Minute)

	var axis struct{ From, To time.Time }
	if err := json.Unmarshal(u.files[evidence.Levels], &axis); err != nil {
		t.Fatal(err)
	}
	columns, err := levelplot.Read(u.files[evidence.Level], axis.From, axis.To)
	if err != nil {
		t.Fatal(err)
	}
	var edges []float64 // in seconds from the start
	red := false
	for _, column := range columns {
		if !column.Known {
			continue
		}
		if column.Red != red {
			red = column.Red
			edges = append(edges, column.At.Sub(start).Seconds())
		}
		if high := column.DBFS > -40; high == red || !high && column.DBFS > -85 {
			t.Errorf("at %s the plot shows %.0f dBFS, red %v", column.At.Sub(start), column.DBFS, column.Red)
		}
	}
	if len(edges) != 2 || edges[0] < off-1 || edges[0] > off+1 || edges[1] < on-1 || edges[1] > on+1 {
		t.Errorf("the sound goes off and on at %.1f s, want %.1f and %.1f", edges, off, on)
	}
}
