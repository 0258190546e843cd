package quality_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// sampledLadders are those that tests play which run often.
var sampledLadders = []string{"black-middle-audio-group", "short-outage-of-all"}

func TestLaddersAreJudgedAsDescribedButForThoseThatAreKnown(t *testing.T) { // decision S22
	l, pool := library(t, corpus.Options{}), decoders(t)
	ladders, known := corpus.Ladders()
	if !*whole {
		ladders = slices.DeleteFunc(ladders, func(l corpus.Ladder) bool { return !slices.Contains(sampledLadders, l.Name) })
	}
	var lock sync.Mutex
	figures := map[string]int{}
	t.Run("ladder", func(t *testing.T) {
		for _, ladder := range ladders {
			t.Run(ladder.Name, func(t *testing.T) {
				t.Parallel()
				s := newLadderServer(t, ladder, l)
				analyser := &remembered{analyses: map[string]watch.Analysis{}, analyser: ffmpeg.New(ffmpeg.Config{
					Path: l.FFmpeg(), Timeout: time.Minute, Decoder: pool.Stream(slog.New(slog.DiscardHandler)),
				})}
				want, _, _ := strings.Cut(known[ladder.Name], ":")
				for _, programTime := range []bool{true, false} {
					s.programTime = programTime
					got, told := s.judge(s.watch(t, analyser))
					t.Logf("program time %t: %s; %s", programTime, got, told)
					if got != want {
						t.Errorf("program time %t: is %q, and known to be %q", programTime, got, want)
					}
					lock.Lock()
					figures[ladder.Expected+" "+got]++
					lock.Unlock()
				}
			})
		}
	})
	t.Logf("ladders, each played twice: %v", figures)
}

// remembered analyses the same bytes once as closely.
type remembered struct {
	analyser worker.Analyser
	analyses map[string]watch.Analysis
}

func (r *remembered) analyse(ctx context.Context, s watch.Segment, l watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	all, err := io.ReadAll(body)
	if err != nil {
		return watch.Analysis{}, err
	}
	key := fmt.Sprintf("%x %v", sha256.Sum256(all), l)
	if a, known := r.analyses[key]; known {
		return a, nil
	}
	a, err := r.analyser.Analyse(ctx, s, l, bytes.NewReader(all), setting)
	if err == nil {
		r.analyses[key] = a
	}
	return a, err
}

// watch plays the ladder to a watcher on virtual time, through the reader of production.
func (s *ladderServer) watch(t *testing.T, analyser *remembered) []received {
	t.Helper()
	server := httptest.NewServer(s.handler())
	defer server.Close()
	client := s.client()
	defer client.Close()
	config := monitor.DefaultConfig()
	config.SwitchOn(detector.BadRendition)
	tasks := ladderTasks{s, server.URL, client, manifest.NewReader(client.Get, hls.Format{}), analyser, config.Value}
	watcher := watch.New(watch.RulesOf(config, watch.Smallest), epoch)
	events, _ := simulate(watcher, epoch, epoch.Add(clipTime(s.Length)), func(next watch.Task, now time.Time) (watch.Observation, time.Duration) {
		return tasks.observe(t.Context(), next, now)
	})
	return events
}

// client returns a client that fetches from the test's own server.
func (s *ladderServer) client() *media.Client {
	c := media.Config{Control: func(string, string, syscall.RawConn) error { return nil }, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	if slices.ContainsFunc(s.Happens, func(h corpus.Happening) bool { return h.Kind == "playlist_hangs" }) {
		c.Total = 500 * time.Millisecond
	}
	return media.New(c)
}

// ladderTasks does the tasks of a watcher as a worker does them.
type ladderTasks struct {
	server   *ladderServer
	address  string
	segments worker.SegmentFetcher
	reader   worker.PlaylistReader
	analyser *remembered
	setting  func(string) float64
}

// observe performs a task. It returns the observation and its simulated duration.
func (l ladderTasks) observe(ctx context.Context, t watch.Task, now time.Time) (watch.Observation, time.Duration) {
	switch t.Kind {
	case watch.TaskResolve:
		state := watch.Live
		for _, q := range l.server.Qualities {
			l.server.at(now, "")
			if _, ended := l.server.edge(q); !ended {
				return watch.Resolution{Began: now, State: state, Source: "player", Manifest: l.address + "/master.m3u8", ActualStart: epoch}, resolveTime
			}
		}
		return watch.Resolution{Began: now, State: watch.Ended, Source: "player"}, resolveTime
	case watch.TaskProbe:
		return watch.ProbeResult{Began: now, Known: true, Exists: true}, resolveTime
	case watch.TaskPlaylist:
		return l.read(ctx, t, now)
	case watch.TaskRendition:
		playlist, took := l.read(ctx, t, now)
		look := watch.RenditionLook{Playlist: playlist, Text: t.Look.Text}
		if n := len(playlist.Segments); n > 0 {
			newest := playlist.Segments[n-1]
			a, more := l.analyse(ctx, newest, watch.LookAtRendition(newest, t.Look.Text), now)
			look.Analysis, took = &a, took+more
		}
		return look, took
	case watch.TaskSegment:
		return l.analyse(ctx, t.Segment, t.Look, now)
	}
	return watch.Tick{}, 0
}

func (l ladderTasks) read(ctx context.Context, t watch.Task, now time.Time) (watch.Playlist, time.Duration) {
	delay := l.server.at(now, t.URL)
	p := l.reader.ReadPlaylist(ctx, t.URL)
	p.Began, p.URL = now, t.URL
	return p, playlistTime + delay
}

func (l ladderTasks) analyse(ctx context.Context, s watch.Segment, look watch.Look, now time.Time) (a watch.Analysis, took time.Duration) {
	took = analysisTime + l.server.at(now, s.URI)
	body, err := l.segments.FetchSegment(ctx, s)
	if err == nil {
		var read io.Reader = body
		if look.KeyFrames {
			read = io.LimitReader(body, 1<<20)
		}
		a, err = l.analyser.analyse(ctx, s, look, read, l.setting)
		_ = body.Close()
	}
	if f := (*watch.Failure)(nil); errors.As(err, &f) {
		a = watch.Analysis{Failure: f}
	} else if err != nil {
		a = watch.Analysis{Failure: watch.NewFailure(watch.FailureNetwork, "%v", err)}
	}
	a.Began, a.Segment = now, s.ID()
	return a, took
}

// judge returns nothing if the alerts are as described, else "missed", "invented" or, without a recovery, "open". Of an
// undecided ladder it returns "told" or "not told". It also returns the events as text.
func (s *ladderServer) judge(events []received) (wrong, told string) {
	alerts, recoveries := 0, 0
	for _, e := range events {
		told += fmt.Sprintf(" %s at %.0f s", e.Type, e.at.Seconds())
		switch string(e.Type) {
		case "alert.rendition":
			alerts++
			a, _ := e.Data.(event.Alert)
			told += fmt.Sprintf(" since %.0f s %v", a.StartedAt.Sub(epoch).Seconds(), a.Measured)
			if s.Expected == "none" || s.Expected == "alert" && !s.isBad(a.Measured["height"], e.at) {
				return "invented", told
			}
		case "alert.rendition_recovered":
			recoveries++
		}
	}
	switch {
	case s.Expected == "undecided" && alerts > 0:
		return "told", told
	case s.Expected == "undecided":
		return "not told", told
	case s.Expected == "alert" && alerts == 0:
		return "missed", told
	case s.Recovers && recoveries < alerts:
		return "open", told
	}
	return "", told
}

// isBad reports whether something has happened to a quality of a height by a time.
func (s *ladderServer) isBad(height float64, at time.Duration) bool {
	return slices.ContainsFunc(s.Qualities, func(q corpus.Quality) bool {
		return q.Height == int(height) && slices.ContainsFunc(s.Happens, func(h corpus.Happening) bool {
			return h.Quality == q.Name && at >= clipTime(h.From)
		})
	})
}
