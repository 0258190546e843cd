package decoder_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The segments of these tests, by their first byte.
const (
	calm    = 'c' // has an answer after 10 ms
	slow    = 's' // has an answer after 800 ms
	long    = 'l' // has an answer after 4 s
	hangs   = 'h' // has none until the process is stopped
	crashes = 'x' // ends the process
	poison  = 'p' // has an answer; the process ends at the next segment
)

// fakes starts processes for a Pool.
type fakes struct {
	started, ended atomic.Int32
	fails          error         // of each start
	slowdown       time.Duration // of a busy host: each segment takes so much longer, without CPU time
}

var errEnded = errors.New("segment-decoder ended before it answered")

func (f *fakes) start(context.Context) (decoder.FakeProcess, error) {
	if f.fails != nil {
		return decoder.FakeProcess{}, f.fails
	}
	f.started.Add(1)
	poisoned, began, idled := false, time.Now(), atomic.Int64{}
	cpuTime := func() time.Duration { return time.Since(began) - time.Duration(idled.Load()) }
	return decoder.FakeProcess{End: func() { f.ended.Add(1) }, CPUTime: cpuTime, Exchange: func(ctx context.Context, j decoder.Job) (decoder.Result, error) {
		takes := map[byte]time.Duration{calm: 10 * time.Millisecond, slow: 800 * time.Millisecond, long: 4 * time.Second, hangs: time.Hour, crashes: 0, poison: 0}[j.Media[0]]
		idled.Add(int64(f.slowdown))
		select {
		case <-time.After(takes + f.slowdown):
		case <-ctx.Done():
			f.ended.Add(1)
			return decoder.Result{}, context.Cause(ctx)
		}
		if poisoned || j.Media[0] == crashes {
			f.ended.Add(1)
			return decoder.Result{}, errEnded
		}
		poisoned = j.Media[0] == poison
		return decoder.Result{VideoAnnounced: true}, nil
	}}, nil
}

// inVirtualTime runs a test with a pool of two processes.
func inVirtualTime(t *testing.T, run func(t *testing.T, p *decoder.Pool, f *fakes, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, log := &fakes{}, &bytes.Buffer{}
		p := decoder.NewWithFakes(decoder.Config{Processes: 2}, slog.New(slog.NewTextHandler(log, nil)), f.start)
		run(t, p, f, log)
		p.Close()
		if f.started.Load() != f.ended.Load() {
			t.Errorf("%d processes were started, %d ended", f.started.Load(), f.ended.Load())
		}
	})
}

func newStream(p *decoder.Pool) *decoder.Stream { return p.Stream(slog.New(slog.DiscardHandler)) }

// decode decodes a segment and returns how long that took.
func decode(t *testing.T, s *decoder.Stream, kind byte) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	_, err := s.Decode(t.Context(), decoder.Job{Media: []byte{kind}})
	return time.Since(began), err
}

func TestASegmentHarmsNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		segments  string // of one stream, one after another
		failures  int    // of them
		processes int32  // started for them and a calm one
		took      time.Duration
		logged    string
	}{
		"calm segments need one process":                                 {segments: "cccc", processes: 1, took: 40 * time.Millisecond},
		"a slow one has the time that it needs while nobody waits":       {segments: "sc", processes: 1, took: 810 * time.Millisecond},
		"one that hangs has no second try":                               {segments: "ch", failures: 1, processes: 2, took: 10*time.Millisecond + decoder.DefaultTimeout, logged: "too slow: more than 5s"},
		"one that ends a process has a second try in a fresh one":        {segments: "cx", failures: 1, processes: 3, took: 10 * time.Millisecond, logged: "ended before it answered"},
		"one that ends a fresh process has none":                         {segments: "x", failures: 1, processes: 2, logged: "ended before it answered"},
		"one that comes after the cause is decoded":                      {segments: "pc", processes: 2, took: 20 * time.Millisecond},
		"after two that hang, a stream is left alone":                    {segments: "hhccc", failures: 5, processes: 3, took: 2 * decoder.DefaultTimeout, logged: "two segments of the stream"},
		"after two that end a process as well, whatever is between them": {segments: "xcccxc", failures: 3, processes: 4, took: 30 * time.Millisecond, logged: "two segments of the stream"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, p *decoder.Pool, f *fakes, log *bytes.Buffer) {
				s := p.Stream(slog.New(slog.NewTextHandler(log, nil)))
				failures, began := 0, time.Now()
				for _, kind := range []byte(c.segments) {
					if _, err := decode(t, s, kind); err != nil {
						failures++
					}
				}
				if took := time.Since(began); failures != c.failures || took != c.took {
					t.Errorf("%d failures within %v, want %d within %v", failures, took, c.failures, c.took)
				}
				if _, err := decode(t, newStream(p), calm); err != nil {
					t.Errorf("another stream: %v", err)
				}
				if n := f.started.Load(); n != c.processes {
					t.Errorf("%d processes were started, want %d", n, c.processes)
				}
				if !strings.Contains(log.String(), c.logged) || c.logged == "" && log.Len() > 0 || strings.Contains(log.String(), "WARN") {
					t.Errorf("logged %q, want %q", log, c.logged)
				}
				time.Sleep(10 * time.Minute)
				if _, err := decode(t, s, calm); err != nil {
					t.Errorf("the stream 10 minutes later: %v", err)
				}
			})
		})
	}
}

// outcome is how long a segment took, and how it failed.
type outcome struct {
	took time.Duration
	err  error
}

// decodeAtOnce decodes segments in the same time, which begin in their order. Each has a stream
// that newStream returns, and a timeout.
func decodeAtOnce(t *testing.T, newStream func() *decoder.Stream, timeout time.Duration, segments string) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(segments))
	var decoding sync.WaitGroup
	for i := range segments {
		decoding.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			began := time.Now()
			_, err := newStream().Decode(ctx, decoder.Job{Media: []byte{segments[i]}})
			outcomes[i] = outcome{time.Since(began), err}
		})
		synctest.Wait()
	}
	decoding.Wait()
	return outcomes
}

func TestNoSegmentWaitsBehindAHostileOne(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, _ *fakes, _ *bytes.Buffer) {
		const hostile = "hh" // one for each process
		for i, o := range decodeAtOnce(t, func() *decoder.Stream { return newStream(p) }, time.Hour, hostile+strings.Repeat("c", 20)) {
			// Ten rounds of 10 ms on two processes follow.
			if i < len(hostile) && (o.err == nil || o.took != decoder.DefaultShare) || i >= len(hostile) && (o.err != nil || o.took > decoder.DefaultShare+100*time.Millisecond) {
				t.Errorf("segment %d took %v: %v", i, o.took, o.err)
			}
		}
	})
}

func TestASlowSegmentHasItsTimeWhileAProcessIsFree(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, _ *fakes, _ *bytes.Buffer) {
		result := make(chan error)
		go func() { _, err := decode(t, newStream(p), long); result <- err }()
		time.Sleep(2 * decoder.DefaultShare)
		for range 50 {
			if _, err := decode(t, newStream(p), calm); err != nil {
				t.Error(err)
			}
		}
		if err := <-result; err != nil {
			t.Errorf("the slow segment: %v", err)
		}
	})
}

// A burst is longer than the share of a segment: it is no reason to leave any to the command.
func TestABurstOfCalmSegmentsIsDecoded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, f *fakes, _ *bytes.Buffer) {
		for _, o := range decodeAtOnce(t, func() *decoder.Stream { return newStream(p) }, time.Hour, strings.Repeat("s", 10)) {
			if o.err != nil {
				t.Error(o.err)
			}
		}
		if n := f.started.Load(); n != 2 {
			t.Errorf("%d processes were started, want 2", n)
		}
	})
}

// On a busy host, each segment takes longer than its share, and more wait than their deadline
// allows. They must not cost a process: to start others would make the host busier.
func TestAnOverloadStopsNoProcess(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, f *fakes, log *bytes.Buffer) {
		f.slowdown = 1490 * time.Millisecond
		s := p.Stream(slog.New(slog.NewTextHandler(log, nil)))
		decoded := 0
		for _, o := range decodeAtOnce(t, func() *decoder.Stream { return s }, 10*time.Second, strings.Repeat("c", 30)) {
			if o.err == nil {
				decoded++
			} else if !errors.Is(o.err, context.DeadlineExceeded) {
				t.Error(o.err)
			}
		}
		// Two processes begin a segment every 1.5 s, the last ones at 9 s.
		if n := f.started.Load(); decoded != 14 || n != 2 || log.Len() > 0 {
			t.Errorf("%d segments were decoded, want 14; %d processes were started, want 2; logged %q", decoded, n, log)
		}
	})
}

// Until it is used, nobody sees that a process has died: it stays a zombie.
func TestAProcessThatDiesWhileItIsIdleIsSoonFound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, f *fakes, _ *bytes.Buffer) {
		for _, kind := range []byte{poison, slow} { // at the same time, so in two processes
			go func() { _, _ = decode(t, newStream(p), kind) }()
		}
		time.Sleep(time.Second)
		for range 2 {
			if _, err := decode(t, newStream(p), calm); err != nil {
				t.Error(err)
			}
		}
		if n := f.ended.Load(); n != 1 {
			t.Errorf("%d of the processes were found dead, want 1", n)
		}
	})
}

func TestAProgramThatDoesNotWorkIsTriedOnceAMinute(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, f *fakes, log *bytes.Buffer) {
		f.fails = errors.New("the program is missing")
		s := newStream(p)
		for range 100 {
			if _, err := decode(t, s, calm); err == nil {
				t.Fatal("it was decoded")
			}
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
		f.fails = nil
		if _, err := decode(t, s, calm); err == nil {
			t.Error("the program was tried again at once")
		}
		time.Sleep(time.Minute)
		if _, err := decode(t, s, calm); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestTheEndOfAWatchIsNoFailureOfItsSegment(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *decoder.Pool, _ *fakes, log *bytes.Buffer) {
		s, ended := p.Stream(slog.New(slog.NewTextHandler(log, nil))), errors.New("the watch ended")
		for range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(2*time.Second, func() { cancel(ended) })
			if _, err := s.Decode(ctx, decoder.Job{Media: []byte{hangs}}); !errors.Is(err, ended) {
				t.Errorf("error = %v", err)
			}
		}
		if _, err := decode(t, s, calm); err != nil || log.Len() > 0 {
			t.Errorf("the next segment: %v; logged %q", err, log)
		}
	})
}
