package quality_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
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
				analyser := newRemembered(l.FFmpeg(), pool)
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

// watch plays the ladder to a watcher on virtual time, through the reader of production.
func (s *ladderServer) watch(t *testing.T, analyser *remembered) []received {
	t.Helper()
	server := httptest.NewServer(s.handler())
	defer server.Close()
	limit := time.Duration(0)
	if slices.ContainsFunc(s.Happens, func(h corpus.Happening) bool { return h.Kind == "playlist_hangs" }) {
		limit = 500 * time.Millisecond
	}
	client := localClient(limit)
	defer client.Close()
	config := monitor.DefaultConfig()
	config.SwitchOn(detector.BadRendition)
	resolve := func() watch.Resolution {
		for _, q := range s.Qualities {
			if _, ended := s.edge(q); !ended {
				return watch.Resolution{State: watch.Live, Source: "player", Manifest: server.URL + "/master.m3u8", ActualStart: epoch}
			}
		}
		return watch.Resolution{State: watch.Ended, Source: "player"}
	}
	tasks := servedTasks{s.at, resolve, client, manifest.NewReader(client.Get, hls.Format{}), analyser, config.Value}
	watcher := watch.New(watch.RulesOf(config, watch.Smallest), epoch)
	events, _ := simulate(watcher, epoch, epoch.Add(clipTime(s.Length)), func(next watch.Task, now time.Time) (watch.Observation, time.Duration) {
		return tasks.observe(t.Context(), next, now)
	})
	return events
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
