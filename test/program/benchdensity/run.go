package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

const (
	pollInterval = 200 * time.Millisecond
	lookInterval = 15 * time.Second // between two looks at the memory
	startTimeout = 3 * time.Minute  // for the next stream to be watched
	settle       = time.Minute      // from the last start of a stream to the measurement
)

// result is what was measured of one number of streams.
type result struct {
	Streams     int
	Preset      string   `json:",omitempty"`
	Env         []string // of the gateway, beside its defaults here
	DurationSec float64

	CPUSecPerStreamHour parts
	StartSec            parts // CPU seconds for the start of a stream, and until the measurement
	Specification       specificationCost
	Cores, OtherCores   float64 // in use by the product, and by the rest of the machine

	counters
	accuracy

	Peak               resources
	TransactionsPerSec float64 // of the database

	Storms  []storm // the first is the registration of all
	Failure string  `json:",omitempty"` // why not everything was measured
}

// run is the measurement of one number of streams.
type run struct {
	options

	result   *result
	n        int
	dir      string
	binary   string // of the gateway
	db       bench.Database
	media    *media
	receiver *webhookreceiver.Receiver
	gateway  *system.Service
	profiles string // base URL of those of the gateway

	mu       sync.Mutex
	monitors map[string]int // the stream of each monitor
}

// measure measures the streams of a result. It keeps its files in dir. With an error, the result
// has what was measured until then.
func measure(ctx context.Context, o options, r *result, binary, dir string) (err error) {
	m := &run{options: o, result: r, n: r.Streams, dir: dir, binary: binary, monitors: map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if m.media, err = startMedia(ctx, m.n); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.media.Close()) }()
	if m.receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.receiver.Close()) }()
	return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) (err error) {
		m.db = db
		if err := m.startGateway(ctx, "data"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.gateway.Stop()) }()
		return m.measureAll(ctx)
	})
}

// measureAll measures the streams' start, the duration and the storms.
func (m *run) measureAll(ctx context.Context) (err error) {
	before := m.usage()
	if err := m.measureStorm(ctx, "registration", m.registerAtOnce); err != nil {
		return err
	}
	say("all %d streams are watched; the measurement begins in %s", m.n, settle)
	if err := m.waitUntil(ctx, time.Now().Add(settle)); err != nil {
		return err
	}
	m.result.StartSec = partsOf(before, m.usage(), float64(m.n))
	if m.duration > 0 {
		err = m.measureDuration(ctx)
	}
	if err == nil && m.storms {
		err = m.measureStorms(ctx)
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
	env := append(m.media.Env(), "DB_DSN="+m.db.DSN, "MAX_MONITORS=10000", "WORKER_RUNTIME=inline", "PROFILE_LISTEN_ADDR="+profileAddr)
	if decoder, err := testtools.Decoder(); err != nil {
		say("ffmpeg decodes every segment, because there is no segment-decoder: %v", err)
	} else {
		env = append(env, "DECODER_PATH="+decoder)
	}
	gateway, err := system.Start(ctx, system.Config{Binary: m.binary, DataDir: filepath.Join(m.dir, data), Env: append(env, m.env...)})
	if err != nil {
		return err
	}
	m.gateway = gateway
	say("the gateway's profiles: go tool pprof %sprofile", m.profiles)
	return nil
}

// register registers stream k.
func (m *run) register(ctx context.Context, k int) error {
	config := map[string]any{
		"check_interval_sec": interval.Seconds(), "blackout_threshold_sec": threshold.Seconds(), "silence_threshold_sec": threshold.Seconds(),
	}
	if m.preset != "" {
		config["preset"] = m.preset // single values win
	}
	id, err := m.gateway.Register(ctx, "https://www.youtube.com/watch?v="+videoID(k), m.receiver.URL(), config)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.monitors[id] = k
	return err
}

// awaitWatched waits until every stream has been watched since the last reset. It fails if there is no
// progress for startTimeout.
func (m *run) awaitWatched(ctx context.Context, c *counters) error {
	for progressed := time.Now(); ; {
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
		if err := m.waitUntil(ctx, time.Now().Add(pollInterval)); err != nil {
			return err
		}
	}
}

// waitUntil waits until an instant. It fails if the gateway ends before.
func (m *run) waitUntil(ctx context.Context, until time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-m.gateway.Exited():
		return fmt.Errorf("the gateway has ended; its log ends:\n%s", m.gateway.Tail(10))
	case <-time.After(time.Until(until)):
		return nil
	}
}

// measureDuration measures for the duration. If it is interrupted, it measures until then.
func (m *run) measureDuration(ctx context.Context) error {
	r, start := m.result, time.Now()
	end := start.Add(m.duration)
	episodes := m.cueTroubles(start, end)
	before, err := m.look(ctx)
	m.media.traffic.reset()
	for err == nil && time.Now().Before(end) {
		err = m.waitUntil(ctx, time.Now().Add(min(lookInterval, time.Until(end))))
		m.keepPeak()
		r.counters = m.media.traffic.count()
		say("%d streams, %s of %s: %d of %d checks late", m.n, time.Since(start).Round(time.Second), m.duration, r.Late, r.Checks)
	}
	after, lookErr := m.look(context.WithoutCancel(ctx))
	if lookErr == nil {
		r.describe(before, after)
		r.accuracy = m.compare(episodes, start)
	}
	if err := errors.Join(err, lookErr); err != nil {
		return err
	}
	if r.Specification, err = m.measureSpecification(ctx); err != nil {
		return err
	}
	r.Specification.Times = r.Specification.CPUSecPerStreamHour / r.CPUSecPerStreamHour.All
	return nil
}

// goroutines returns how many goroutines the gateway has; 0: it does not answer.
func (m *run) goroutines() (n int) {
	res, err := http.Get(m.profiles + "goroutine?debug=1")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = fmt.Fscanf(res.Body, "goroutine profile: total %d", &n)
	return n
}
