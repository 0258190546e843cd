package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// endedStreams are on the page of each channel, as many as a page shows.
const endedStreams = 30

// site is YouTube with the channels.
type site struct {
	*youtube.Server

	source youtube.Source // of all live streams

	mu     sync.Mutex
	counts map[youtube.Class]int
	readAt map[string]time.Time // when the page of each channel was requested last
	pauses bench.Times          // between two requests for the page of a channel
}

// startSite serves channels that have only streams that ended.
func startSite(ctx context.Context, count int) (*site, error) {
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		return nil, err
	}
	s := &site{counts: map[youtube.Class]int{}, readAt: map[string]time.Time{}}
	if s.source, err = library.Start(ctx, livestream.Config{Preroll: time.Minute, Segment: 5 * time.Second, Renditions: []livestream.Rendition{livestream.Muxed144p}}); err != nil {
		return nil, err
	}
	if s.Server, err = youtube.Start(youtube.Config{OnRequest: s.request}); err != nil {
		return nil, err
	}
	for n := range count {
		s.AddChannel(channelID(n), youtube.Channel{Title: fmt.Sprintf("Channel %d", n), Layout: layoutOf(n)})
		for k := range endedStreams {
			s.Add(fmt.Sprintf("old%05d%03d", n, k), youtube.Video{State: youtube.Ended, Channel: channelID(n), Started: time.Now().AddDate(0, 0, -1-k)})
		}
	}
	return s, nil
}

// request counts a request.
func (s *site) request(r youtube.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[r.Class]++
	if r.Class != youtube.Browse {
		return
	}
	if before, known := s.readAt[r.Video]; known {
		s.pauses = append(s.pauses, r.At.Sub(before))
	}
	s.readAt[r.Video] = r.At
}

// reset counts from now on. The pause between two requests may have begun before.
func (s *site) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts, s.pauses = map[youtube.Class]int{}, nil
}

// readings is what the site was asked for since the reset.
type readings struct {
	counts map[youtube.Class]int
	pauses bench.Times
}

func (s *site) readings() readings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return readings{maps.Clone(s.counts), slices.Clone(s.pauses)}
}

// requests returns how many requests there were.
func (r readings) requests() (sum int) {
	for _, n := range r.counts {
		sum += n
	}
	return sum
}

// text returns what was asked within a time.
func (r readings) text(within time.Duration) string {
	var words []string
	for _, class := range slices.Sorted(maps.Keys(r.counts)) {
		words = append(words, fmt.Sprintf("%s %d", class, r.counts[class]))
	}
	return fmt.Sprintf("requests within %s:        %s; %.1f pages a second\nbetween two readings of a page:  median %.0f s, longest %.0f s\n",
		within, strings.Join(words, ", "), float64(r.counts[youtube.Browse])/within.Seconds(), r.pauses.Percentile(50).Seconds(), r.pauses.Percentile(100).Seconds())
}

// registerChannels stores channels that become due one after another within an interval, as if they had been read before. In their usual hours, two streams of each began at this time of earlier days.
func registerChannels(ctx context.Context, o options, callback monitor.CallbackURL, dsn string) error {
	now := time.Now().UTC()
	var reading channel.Reading
	if o.usual {
		reading.Starts = []time.Time{now.AddDate(0, 0, -1), now.AddDate(0, 0, -2)}
	}
	return bench.WithStore(ctx, dsn, postgres.Config{}, func(store *postgres.Store) error {
		for n := range o.count {
			reading.NextAt = now.Add(o.interval() * time.Duration(n) / time.Duration(o.count))
			if err := store.CreateChannel(ctx, channel.Channel{
				ID: bench.NewID(), Address: channel.Address("https://www.youtube.com/channel/" + channelID(n)), SourceID: channelID(n), CreatedAt: now, Reading: reading,
				Template: channel.Template{CallbackURL: callback, Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{}`)},
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
