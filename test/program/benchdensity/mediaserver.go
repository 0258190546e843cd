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
	Timelines int            // how many different streams there are
	Videos    map[string]int // the timeline that each video shows
}

// serverReady is the first line that it writes.
type serverReady struct {
	Env   []string    // directs a program to this server instead of YouTube
	Began []time.Time // first frame of each timeline
}

// cue is each later line that it reads. It answers with the instant as a line.
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
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	ready := serverReady{Env: y.Env()}
	timelines := make([]*timeline, setup.Timelines)
	for i := range timelines {
		// Segments of different timelines end at different times.
		phase := segmentDuration * time.Duration(i) / time.Duration(len(timelines))
		stream, err := library.Start(context.Background(), livestream.Config{
			Start: time.Now().Add(-phase), Preroll: time.Minute, Segment: segmentDuration,
			Renditions: []livestream.Rendition{livestream.Muxed144p, best},
		})
		if err != nil {
			return err
		}
		timelines[i] = &timeline{Stream: stream, segments: map[segmentKey][]byte{}}
		ready.Began = append(ready.Began, stream.Began())
	}
	for id, i := range setup.Videos {
		y.Add(id, youtube.Video{State: youtube.Live, Source: timelines[i]})
	}
	if err := answers.Encode(ready); err != nil {
		return err
	}
	for {
		var c cue
		err := lines.Decode(&c)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		s := timelines[c.Timeline].Stream
		if err := answers.Encode(s.Do(livestream.Cue{At: c.At.Sub(s.Began()), Do: c.Do})); err != nil {
			return err
		}
	}
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

// do adds a cue and returns the instant at which it takes effect.
func (s *mediaServer) do(c cue) (at time.Time, err error) {
	if err := s.send(c); err != nil {
		return at, err
	}
	return at, s.answers.Decode(&at)
}

// stop ends the process.
func (s *mediaServer) stop() error {
	_ = s.in.Close() // the process ends with it, whether this fails or not
	return s.cmd.Wait()
}
