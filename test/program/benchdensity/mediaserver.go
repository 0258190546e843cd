//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// mediaServerArg is the only argument of the process that serves the media.
const mediaServerArg = "media-server"

// segmentDuration is that of YouTube's live streams of normal latency.
const segmentDuration = 5 * time.Second

// best is the best quality, which the specification's method analyses.
var best = livestream.Rendition{Itag: 96, Width: 1920, Height: 1080, Bandwidth: 4_500_000}

// serverSetup is the first line that a media server reads.
type serverSetup struct {
	Interval  time.Duration  // between two checks of a stream
	Timelines int            // how many different streams there are
	Videos    map[string]int // the timeline that each video shows
}

// serverReady is the first line that it writes.
type serverReady struct {
	Env   []string    // directs a program to this server instead of YouTube
	Began []time.Time // first frame of each timeline
}

// order is each later line that it reads.
type order struct {
	Cue    *cue // nil: none
	Expire bool // refuse every media URL that was given out so far, but the yardstick's
	Reset  bool // count anew
}

// answer is the line that follows an order.
type answer struct {
	At       time.Time // when the cue takes effect
	Counters counters  // until now
}

// cue is something that happens to a timeline.
type cue struct {
	Timeline int
	At       time.Time
	Do       livestream.Action
}

// serveMedia serves videos until in ends.
func serveMedia(in io.Reader, out io.Writer) (err error) {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var setup serverSetup
	if err := lines.Decode(&setup); err != nil {
		return err
	}
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		return err
	}
	counted := newTraffic(setup.Interval)
	y, err := youtube.Start(youtube.Config{OnRequest: counted.request})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	timelines, err := startTimelines(library, setup.Timelines)
	if err != nil {
		return err
	}
	ready := serverReady{Env: y.Env()}
	for _, t := range timelines {
		ready.Began = append(ready.Began, t.Began())
	}
	for id, i := range setup.Videos {
		video := youtube.Video{State: youtube.Live, Source: viewed{timelines[i], id, counted}}
		if id == yardstickID {
			video.Source = timelines[i]
		}
		y.Add(id, video)
	}
	if err := answers.Encode(ready); err != nil {
		return err
	}
	for {
		var o order
		err := lines.Decode(&o)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var a answer
		if c := o.Cue; c != nil {
			s := timelines[c.Timeline].Stream
			a.At = s.Do(livestream.Cue{At: c.At.Sub(s.Began()), Do: c.Do})
		}
		if o.Expire {
			expire(y, setup.Videos)
		}
		a.Counters = counted.count(o.Reset)
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// startTimelines starts n streams whose segments end at different times.
func startTimelines(library *livestream.Library, n int) ([]*timeline, error) {
	timelines := make([]*timeline, n)
	for i := range timelines {
		phase := segmentDuration * time.Duration(i) / time.Duration(n)
		stream, err := library.Start(context.Background(), livestream.Config{
			Start: time.Now().Add(-phase), Preroll: time.Minute, Segment: segmentDuration,
			Renditions: []livestream.Rendition{livestream.Muxed144p, best},
		})
		if err != nil {
			return nil, err
		}
		timelines[i] = &timeline{Stream: stream, segments: map[segmentKey][]byte{}}
	}
	return timelines, nil
}

// expire makes the server refuse the URLs of all videos but the yardstick's.
func expire(y *youtube.Server, videos map[string]int) {
	for id := range videos {
		if id != yardstickID {
			y.ExpireNow(id)
		}
	}
}

// viewed is a timeline as one video shows it. It counts the segments that are served.
type viewed struct {
	*timeline

	video   string
	traffic *traffic
}

// Segment implements youtube.Source.
func (v viewed) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	b, err := v.timeline.Segment(ctx, itag, sequence)
	if err == nil {
		v.traffic.segment(v.video, time.Now())
	}
	return b, err
}

// timeline is a stream that many videos show. It keeps its segments, because many viewers
// request each.
type timeline struct {
	*livestream.Stream

	mu       sync.Mutex
	segments map[segmentKey][]byte
}

type segmentKey struct {
	itag     int
	sequence uint64
}

// keptSegments is how many segments of a rendition are kept, about a minute.
const keptSegments = 13

// Segment implements youtube.Source.
func (t *timeline) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := segmentKey{itag, sequence}
	if b := t.segments[key]; b != nil {
		return b, nil
	}
	b, err := t.Stream.Segment(ctx, itag, sequence)
	if err != nil {
		return nil, err
	}
	t.segments[key] = b
	for old := range t.segments {
		if old.sequence+keptSegments < sequence {
			delete(t.segments, old)
		}
	}
	return b, nil
}

// mediaServer is the process that serves the media.
type mediaServer struct {
	serverReady

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// startMediaServer starts the process and waits until it serves.
func startMediaServer(setup serverSetup) (*mediaServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &mediaServer{cmd: exec.Command(self, mediaServerArg)}
	s.cmd.Stderr = os.Stderr
	// Ctrl-C reaches this program alone, which then stops the gateway before its streams.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.answers = json.NewDecoder(out)
	if err := errors.Join(s.send(setup), s.answers.Decode(&s.serverReady)); err != nil {
		return nil, errors.Join(fmt.Errorf("start the media server: %w", err), s.stop())
	}
	return s, nil
}

func (s *mediaServer) send(v any) error { return json.NewEncoder(s.in).Encode(v) }

// do gives an order. Only one goroutine may call it.
func (s *mediaServer) do(o order) (a answer, err error) {
	if err := s.send(o); err != nil {
		return a, err
	}
	return a, s.answers.Decode(&a)
}

// cue adds a cue and returns the instant at which it takes effect.
func (s *mediaServer) cue(c cue) (at time.Time, err error) {
	a, err := s.do(order{Cue: &c})
	return a.At, err
}

// count returns what the server has counted, and lets it count anew if that is asked for.
func (s *mediaServer) count(reset bool) (counters, error) {
	a, err := s.do(order{Reset: reset})
	return a.Counters, err
}

// stop ends the process.
func (s *mediaServer) stop() error {
	_ = s.in.Close() // the process ends with it, whether this fails or not
	return s.cmd.Wait()
}
