//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

const (
	scanInterval     = 200 * time.Millisecond
	progressInterval = 15 * time.Second
	startTimeout     = 3 * time.Minute // for the next stream to be watched
	calmTimelines    = 8               // that the streams without trouble share
	maxTroubled      = 14              // timelines with trouble
)

// run is the measurement of one number of streams.
type run struct {
	options

	n        int
	dir      string
	progress io.Writer

	db       *embedded.Server
	conn     *sql.DB
	server   *mediaServer
	receiver *webhookreceiver.Receiver
	binary   string // of the gateway
	gateway  *system.Service
	profiles string // base URL of the gateway's profiles
	tree     *processTree

	timelines map[string]int // of each monitor
}

// measure measures n streams. It keeps its files in dir. With an error, the result has what
// was measured until then.
func measure(ctx context.Context, o options, n int, binary, dir string, progress io.Writer) (r result, err error) {
	m := &run{options: o, n: n, dir: dir, binary: binary, progress: progress, timelines: map[string]int{}}
	defer func() { err = errors.Join(err, m.close()) }()
	r = result{Streams: n, Runtime: o.runtime, IntervalSec: o.interval, ThresholdSec: o.threshold}
	if err := m.start(ctx); err != nil {
		return r, err
	}
	before := m.usage()
	if o.storms {
		err = m.measureStorm(ctx, &r, "registration", m.registerAtOnce)
	} else {
		err = m.registerAll(ctx)
	}
	if err != nil {
		return r, err
	}
	m.say("all %d streams are watched; the measurement begins in %s", n, o.settle)
	if err := m.watchFor(ctx, time.Now().Add(o.settle), nil); err != nil {
		return r, err
	}
	started := m.usage()
	r.StartSec = partsOf(before, started, float64(n))
	if o.duration > 0 {
		err = m.measureWindow(ctx, &r)
	}
	r.Tools = m.tree.toolsSeen()
	if err == nil && o.storms {
		err = m.measureStorms(ctx, &r)
	}
	return r, err
}

// start starts everything that the streams need.
func (m *run) start(ctx context.Context) (err error) {
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		return err
	}
	if m.db, err = embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(m.dir, "db")}); err != nil {
		return err
	}
	if m.conn, err = sql.Open("postgres", m.db.DSN()); err != nil {
		return err
	}
	if m.server, err = startMediaServer(m.videos()); err != nil {
		return err
	}
	if m.receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey}); err != nil {
		return err
	}
	return m.startGateway(ctx, "data")
}

// startGateway starts a gateway with segment-decoder, if that can be built. data names
// its data directory.
func (m *run) startGateway(ctx context.Context, data string) error {
	profileAddr, err := loopback.FreeAddress()
	if err != nil {
		return err
	}
	m.profiles = "http://" + profileAddr + "/debug/pprof/"
	env := slices.Concat(m.server.Env, []string{
		"DB_DSN=" + m.db.DSN(), "MAX_MONITORS=10000", "WORKER_RUNTIME=" + m.runtime, "PROFILE_LISTEN_ADDR=" + profileAddr,
	})
	if decoder, err := testtools.Decoder(); err != nil {
		m.say("ffmpeg decodes every segment, because there is no segment-decoder: %v", err)
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

// troubled returns how many streams have trouble. If any has, one is black and one silent.
func (m *run) troubled() int {
	if m.trouble == 0 {
		return 0
	}
	return min(m.n, max(2, m.n*m.trouble/100))
}

// videoID returns the ID of stream k, of 11 characters.
func videoID(k int) string { return fmt.Sprintf("bench%06d", k) }

// yardstickID is the video that the specification's method watches.
const yardstickID = "yardstick00"

// videos assigns the streams to timelines. Those from calmTimelines on have trouble.
func (m *run) videos() serverSetup {
	troubled := m.troubled()
	s := serverSetup{Interval: time.Duration(m.interval) * time.Second, Timelines: calmTimelines + min(troubled, maxTroubled), Videos: map[string]int{yardstickID: 0}}
	for k := range m.n {
		s.Videos[videoID(k)] = k % calmTimelines
		if k < troubled {
			s.Videos[videoID(k)] = calmTimelines + k%maxTroubled
		}
	}
	return s
}

// register registers stream k.
func (m *run) register(ctx context.Context, k int) (id string, err error) {
	return m.gateway.Register(ctx, "https://www.youtube.com/watch?v="+videoID(k), m.receiver.URL(), map[string]any{
		"check_interval_sec": m.interval, "blackout_threshold_sec": m.threshold, "silence_threshold_sec": m.threshold,
	})
}

// registerAll registers the streams, a few at a time, until all are watched.
func (m *run) registerAll(ctx context.Context) error {
	videos := m.videos().Videos
	last, watched := time.Now(), 0
	said := time.Now()
	for watched < m.n {
		for k := len(m.timelines); k < min(m.n, watched+m.starting); k++ {
			id, err := m.register(ctx, k)
			if err != nil {
				return err
			}
			m.timelines[id] = videos[videoID(k)]
		}
		if err := m.watchFor(ctx, time.Now().Add(scanInterval), nil); err != nil {
			return err
		}
		served, err := m.server.count(false)
		if err != nil {
			return err
		}
		if served.Watched > watched {
			watched, last = served.Watched, time.Now()
		}
		if time.Since(last) > startTimeout {
			return fmt.Errorf("no stream began to be watched for %s, %d are; the gateway's log ends:\n%s", startTimeout, watched, m.gateway.Tail(10))
		}
		if time.Since(said) > progressInterval {
			said = time.Now()
			m.say("%d of %d streams are watched", watched, m.n)
		}
	}
	return nil
}

// watchFor follows the gateway's processes until an instant. It calls each, if it is not nil,
// after every progressInterval. An error of each ends it.
func (m *run) watchFor(ctx context.Context, until time.Time, each func() error) error {
	tick := time.NewTicker(scanInterval)
	defer tick.Stop()
	next := time.Now().Add(progressInterval)
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.gateway.Exited():
			return fmt.Errorf("the gateway has ended; its log ends:\n%s", m.gateway.Tail(10))
		case <-tick.C:
		}
		m.tree.scan()
		if each != nil && !time.Now().Before(next) {
			next = next.Add(progressInterval)
			if err := each(); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureWindow measures for the duration. If it is interrupted, it measures until then.
func (m *run) measureWindow(ctx context.Context, r *result) (err error) {
	start := time.Now()
	end := start.Add(m.duration)
	episodes, err := m.cueAll(start, end)
	if err != nil {
		return err
	}
	stopProfile, err := m.profileGateway(end)
	if err != nil {
		return err
	}
	yardsticks := m.startYardsticks(ctx, end)
	before, err := m.look(ctx)
	if err != nil {
		return err
	}
	if _, err := m.server.count(true); err != nil {
		return err
	}
	now := before
	look := func() error {
		r.Peak.keepLargest(m.resources())
		later, err := m.look(ctx)
		if err == nil {
			now = later
			r.counters, err = m.server.count(false)
		}
		return err
	}
	err = m.watchFor(ctx, end, func() error {
		err := look()
		m.say("%d streams, %s of %s: %d alerts, %d of %d checks late", m.n, time.Since(start).Round(time.Second), m.duration,
			len(m.alerts(start, black.alert, silence.alert)), r.Late, r.Checks)
		return err
	})
	if err == nil {
		err = look()
	}
	r.describeWindow(before, now, float64(m.n))
	r.accuracy = compare(episodes, m.receiver.Accepted(), m.timelines, start, now.at.Add(time.Second), time.Duration(m.threshold)*time.Second)
	r.LoggedLate = m.loggedLate(start)
	if err != nil {
		return err // the yardsticks end with the context or with this process
	}
	if r.Yardstick, err = yardsticks(); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the specification's method was not measured: %v", err))
	}
	if err := stopProfile(); err != nil {
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
	err = m.conn.QueryRowContext(ctx, `
		SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&s.transactions)
	return s, err
}

// cueAll makes the streams fail at known instants, and returns these.
func (m *run) cueAll(start, end time.Time) (all []episode, err error) {
	for i := calmTimelines; i < len(m.server.Began); i++ {
		for _, e := range plan(i, m.server.Began[i], start, end, time.Duration(m.threshold)*time.Second) {
			if e.from, err = m.server.cue(cue{i, e.from, e.on}); err != nil {
				return nil, err
			}
			if e.to, err = m.server.cue(cue{i, e.to, e.off}); err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// loggedLate counts the late checks that the log has reported since start.
func (m *run) loggedLate(start time.Time) (late lateChecks) {
	for _, l := range m.gateway.Log() {
		if strings.HasPrefix(l.Message, "Checks began late") && l.Timestamp.After(start) {
			n, _ := l.Data["late"].(float64)
			largest, _ := l.Data["largest_delay_sec"].(float64)
			late.Late += int(n)
			late.LargestSec = max(late.LargestSec, largest)
		}
	}
	return late
}

func (m *run) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// close stops everything.
func (m *run) close() error {
	var errs []error
	if m.gateway != nil {
		errs = append(errs, m.gateway.Stop())
	}
	if m.receiver != nil {
		errs = append(errs, m.receiver.Close())
	}
	if m.server != nil {
		errs = append(errs, m.server.stop())
	}
	if m.conn != nil {
		errs = append(errs, m.conn.Close())
	}
	if m.db != nil {
		errs = append(errs, m.db.Stop(context.Background()))
	}
	return errors.Join(errs...)
}
