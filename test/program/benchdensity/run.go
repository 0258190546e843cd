//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

const (
	scanInterval = 200 * time.Millisecond
	lookInterval = 15 * time.Second // between two lines of progress
	startTimeout = 3 * time.Minute  // for the next stream to be watched
	starting     = 8                // streams that may be registered and not watched yet
	registrants  = 16               // callers that register streams at once, in a storm
	settle       = time.Minute      // from the last start of a stream to the measurement
)

// run is the measurement of one number of streams.
type run struct {
	options

	n        int
	dir      string
	binary   string // of the gateway
	db       bench.Database
	media    *media
	receiver *webhookreceiver.Receiver
	gateway  *system.Service
	profiles string // base URL of the gateway's profiles
	tree     *processTree

	mu       sync.Mutex
	monitors map[string]int // the stream of each monitor
}

// measure measures n streams. It keeps its files in dir. With an error, the result has what
// was measured until then.
func measure(ctx context.Context, o options, n int, binary, dir string) (r result, err error) {
	r = result{Streams: n, Runtime: o.runtime, IntervalSec: o.interval, ThresholdSec: o.threshold}
	m := &run{options: o, n: n, dir: dir, binary: binary, monitors: map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return r, err
	}
	if m.media, err = startMedia(ctx, n, o.trouble, time.Duration(o.interval)*time.Second); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, m.media.Close()) }()
	if m.receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, m.receiver.Close()) }()
	err = bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) (err error) {
		m.db = db
		if err := m.startGateway(ctx, "data"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.gateway.Stop()) }()
		return m.measureAll(ctx, &r)
	})
	return r, err
}

// measureAll measures the streams' start, the duration and the storms.
func (m *run) measureAll(ctx context.Context, r *result) (err error) {
	before := m.usage()
	if m.storms {
		err = m.measureStorm(ctx, r, "registration", m.registerAtOnce)
	} else {
		err = m.awaitWatched(ctx, &counters{}, func(watched int) error {
			for k := len(m.monitors); k < min(m.n, watched+starting); k++ {
				if err := m.register(ctx, k); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	say("all %d streams are watched; the measurement begins in %s", m.n, settle)
	if err := m.watchUntil(ctx, time.Now().Add(settle)); err != nil {
		return err
	}
	r.StartSec = partsOf(before, m.usage(), float64(m.n))
	if m.duration > 0 {
		err = m.measureDuration(ctx, r)
	}
	r.Tools = slices.Sorted(maps.Keys(m.tree.tools))
	if err == nil && m.storms {
		err = m.measureStorms(ctx, r)
	}
	return err
}

// startGateway starts a gateway with segment-decoder, if that can be built. data names
// its data directory.
func (m *run) startGateway(ctx context.Context, data string) error {
	profileAddr, err := loopback.FreeAddress()
	if err != nil {
		return err
	}
	m.profiles = "http://" + profileAddr + "/debug/pprof/"
	env := append(m.media.Env(), "DB_DSN="+m.db.DSN, "MAX_MONITORS=10000", "WORKER_RUNTIME="+m.runtime, "PROFILE_LISTEN_ADDR="+profileAddr)
	if decoder, err := testtools.Decoder(); err != nil {
		say("ffmpeg decodes every segment, because there is no segment-decoder: %v", err)
	} else {
		env = append(env, "DECODER_PATH="+decoder)
	}
	gateway, err := system.Start(ctx, system.Config{Binary: m.binary, DataDir: filepath.Join(m.dir, data), Env: append(env, m.env...)})
	if err != nil {
		return err
	}
	m.gateway, m.tree = gateway, newProcessTree(gateway.PID())
	return nil
}

// register registers stream k.
func (m *run) register(ctx context.Context, k int) error {
	id, err := m.gateway.Register(ctx, "https://www.youtube.com/watch?v="+videoID(k), m.receiver.URL(), map[string]any{
		"check_interval_sec": m.interval, "blackout_threshold_sec": m.threshold, "silence_threshold_sec": m.threshold,
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.monitors[id] = k
	return err
}

// awaitWatched waits until every stream has been watched since the last reset, and calls each
// meanwhile, if it is not nil. It fails if there is no progress for startTimeout.
func (m *run) awaitWatched(ctx context.Context, c *counters, each func(watched int) error) error {
	progressed, said := time.Now(), time.Now()
	for {
		before := c.Watched
		*c = m.media.traffic.count()
		switch {
		case c.Watched == m.n:
			return nil
		case c.Watched > before:
			progressed = time.Now()
		case time.Since(progressed) > startTimeout:
			return fmt.Errorf("%d of %d streams are watched, and no further one for %s; the gateway's log ends:\n%s", c.Watched, m.n, startTimeout, m.gateway.Tail(10))
		}
		if time.Since(said) > lookInterval {
			said = time.Now()
			say("%d of %d streams are watched", c.Watched, m.n)
		}
		if each != nil {
			if err := each(c.Watched); err != nil {
				return err
			}
		}
		if err := m.watchUntil(ctx, time.Now().Add(scanInterval)); err != nil {
			return err
		}
	}
}

// watchUntil follows the gateway's processes until an instant.
func (m *run) watchUntil(ctx context.Context, until time.Time) error {
	tick := time.NewTicker(scanInterval)
	defer tick.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.gateway.Exited():
			return fmt.Errorf("the gateway has ended; its log ends:\n%s", m.gateway.Tail(10))
		case <-tick.C:
		}
		m.tree.scan()
	}
	return nil
}

// measureDuration measures for the duration. If it is interrupted, it measures until then.
func (m *run) measureDuration(ctx context.Context, r *result) error {
	start := time.Now()
	end := start.Add(m.duration)
	episodes := m.cueTroubles(start, end)
	cpuProfile := make(chan error, 1)
	go func() {
		cpuProfile <- m.saveProfile("profile?seconds="+strconv.Itoa(int(m.duration.Seconds())), "cpu.pprof")
	}()
	before, err := m.look(ctx)
	m.media.traffic.reset()
	for now := start; err == nil && now.Before(end); {
		now = now.Add(lookInterval)
		if now.After(end) {
			now = end
		}
		err = m.watchUntil(ctx, now)
		m.keepPeak(&r.Peak)
		r.counters = m.media.traffic.count()
		say("%d streams, %s of %s: %d of %d checks late", m.n, time.Since(start).Round(time.Second), m.duration, r.Late, r.Checks)
	}
	after, lookErr := m.look(context.WithoutCancel(ctx))
	if lookErr == nil {
		r.describe(before, after, float64(m.n))
		r.accuracy = m.compare(episodes, start)
	}
	if err := errors.Join(err, lookErr); err != nil {
		return err
	}
	if r.Specification, err = m.measureSpecification(ctx); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the specification's method was not measured: %v", err))
	}
	if err := errors.Join(<-cpuProfile, m.saveProfile("allocs", "allocs.pprof"), m.saveProfile("heap?gc=1", "heap.pprof"), m.saveProfile("goroutine?debug=1", "goroutines.txt")); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("profiles are missing: %v", err))
	}
	return nil
}

// snapshot is what was used until an instant.
type snapshot struct {
	usage

	at           time.Time
	machine      time.Duration // CPU time of all processes of this machine
	transactions int64         // of the database
}

// look returns what was used until now.
func (m *run) look(ctx context.Context) (s snapshot, err error) {
	s = snapshot{usage: m.usage(), at: time.Now(), machine: machineCPU()}
	err = m.db.QueryRowContext(ctx, `
		SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&s.transactions)
	return s, err
}

// profile returns a profile of the gateway.
func (m *run) profile(path string) ([]byte, error) {
	res, err := http.Get(m.profiles + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// saveProfile writes a profile of the gateway to the directory of -out, if that is set.
func (m *run) saveProfile(path, name string) error {
	if m.out == "" {
		return nil
	}
	profile, err := m.profile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.out, fmt.Sprintf("%d-%s", m.n, name)), profile, 0o644)
}
