package ytdlp

import (
	"bufio"
	"context"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Read lets the tests read a run's output without the run.
func Read(streamID string, stdout, stderr []byte) watch.Resolution {
	answer, _ := read(youtube.Site(stream.Choices{}), streamID, stdout, stderr)
	return answer
}

// Arguments returns the arguments of a question about a URL.
func Arguments(r *Resolver, url string) []string {
	return r.arguments(dumpJSON, monitor.StreamURL(url))
}

// Interpreter finds the Python of a script.
var Interpreter = interpreter

// Limit changes the limits of the processes that a ForkServer starts from now on. Nothing may be asked meanwhile.
func (s *ForkServer) Limit(runs int, idle, begin, pause time.Duration) {
	s.limits.runs, s.limits.idle, s.limits.begin, s.limits.pause = runs, idle, begin, pause
}

// Runs returns how many runs the current process was asked for, or 0 without a process.
func (s *ForkServer) Runs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	s.current.mu.Lock()
	defer s.current.mu.Unlock()
	return s.current.lastID
}

// ReadReplies reads what a process says after it was asked for run 1, and returns why it
// must be ended.
func ReadReplies(said string) error {
	p, err := newForkProcess(context.Background(), defaultForkLimits, nil)
	if err != nil {
		return err
	}
	defer p.kill(nil)
	defer p.closeFiles()
	if _, _, err := p.add(); err != nil {
		return err
	}
	return p.readReplies(bufio.NewReader(strings.NewReader(said)))
}

// ReadList lets the tests read the output of a run about a channel without the run.
func ReadList(stdout, stderr []byte) (channel.Listing, error) {
	return readList(youtube.Site(stream.Choices{}), stdout, stderr)
}
