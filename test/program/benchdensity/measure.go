//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
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
	gateway  *system.Service
	profiles string // base URL of the gateway's profiles
	tree     *processTree

	timelines map[string]int // of each monitor
}

// measure measures n streams. It keeps its files in dir.
func measure(ctx context.Context, o options, n int, binary, dir string, progress io.Writer) (r result, err error) {
	m := &run{options: o, n: n, dir: dir, progress: progress, timelines: map[string]int{}}
	defer func() { err = errors.Join(err, m.close(&r)) }()
	if err := m.start(ctx, binary); err != nil {
		return r, err
	}
	before := m.usage()
	if err := m.registerAll(ctx); err != nil {
		return r, err
	}
	m.say("all %d streams are watched; the measurement begins in %s", n, o.settle)
	if err := m.watchFor(ctx, time.Now().Add(o.settle), nil); err != nil {
		return r, err
	}
	started := m.usage()
	r = result{Streams: n, Runtime: o.runtime, IntervalSec: o.interval, ThresholdSec: o.threshold, Duration: o.duration}
	r.StartSec = partsOf(before, started, float64(n))
	return r, m.measureWindow(ctx, &r)
}

// start starts everything that the streams need.
func (m *run) start(ctx context.Context, binary string) (err error) {
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
	profileAddr, err := freeAddr()
	if err != nil {
		return err
	}
	m.profiles = "http://" + profileAddr + "/debug/pprof/"
	m.gateway, err = system.Start(ctx, system.Config{
		Binary: binary, DataDir: filepath.Join(m.dir, "data"),
		Env: slices.Concat(m.server.Env, []string{
			"DB_DSN=" + m.db.DSN(), "MAX_MONITORS=10000", "WORKER_RUNTIME=" + m.runtime, "PROFILE_LISTEN_ADDR=" + profileAddr,
		}, m.env),
	})
	if err == nil {
		m.tree = newProcessTree(m.gateway.PID())
	}
	return err
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
	s := serverSetup{Timelines: calmTimelines + min(troubled, maxTroubled), Videos: map[string]int{yardstickID: 0}}
	for k := range m.n {
		s.Videos[videoID(k)] = k % calmTimelines
		if k < troubled {
			s.Videos[videoID(k)] = calmTimelines + k%maxTroubled
		}
	}
	return s
}

// freeAddr returns an unused address of the loopback interface.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// registerAll registers the streams, a few at a time, until all are watched.
func (m *run) registerAll(ctx context.Context) error {
	videos := m.videos().Videos
	last, watched := time.Now(), 0
	said := time.Now()
	for watched < m.n {
		for k := len(m.timelines); k < min(m.n, watched+m.starting); k++ {
			id, err := m.gateway.Register(ctx, "https://www.youtube.com/watch?v="+videoID(k), m.receiver.URL(), map[string]any{
				"check_interval_sec": m.interval, "blackout_threshold_sec": m.threshold, "silence_threshold_sec": m.threshold,
			})
			if err != nil {
				return err
			}
			m.timelines[id] = videos[videoID(k)]
		}
		if err := m.watchFor(ctx, time.Now().Add(scanInterval), nil); err != nil {
			return err
		}
		n := 0
		for _, d := range m.receiver.All() {
			if d.EventType == "stream.started" && d.Attempt == 1 {
				n++
			}
		}
		if n > watched {
			watched, last = n, time.Now()
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
// after every progressInterval.
func (m *run) watchFor(ctx context.Context, until time.Time, each func()) error {
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
			each()
		}
	}
	return nil
}

// measureWindow measures for the duration.
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
	before, from := m.usage(), time.Now()
	checksBefore, transactionsBefore, err := m.databaseCounters(ctx)
	if err != nil {
		return err
	}
	err = m.watchFor(ctx, end, func() {
		r.Peak.raise(m.resources())
		m.say("%d streams, %s of %s: %d alerts, %d checks late", m.n, time.Since(start).Round(time.Second), m.duration,
			len(m.deliveries(start)), m.lateChecks(start).Late)
	})
	if err != nil {
		return err
	}
	after, took := m.usage(), time.Since(from)
	r.Peak.raise(m.resources())
	checks, transactions, err := m.databaseCounters(ctx)
	if err != nil {
		return err
	}
	hours := float64(m.n) * took.Hours()
	r.Checks, r.TransactionsPerSec = checks-checksBefore, float64(transactions-transactionsBefore)/took.Seconds()
	r.CPUSecPerStreamHour = partsOf(before, after, hours)
	r.accuracy = compare(episodes, m.receiver.Accepted(), m.timelines, start, time.Duration(m.threshold)*time.Second)
	r.LateChecks = m.lateChecks(start)
	if r.Yardstick, err = yardsticks(); err != nil {
		return err
	}
	return stopProfile()
}

// cueAll makes the streams fail at known instants, and returns these.
func (m *run) cueAll(start, end time.Time) (all []episode, err error) {
	for i := calmTimelines; i < len(m.server.Began); i++ {
		for _, e := range plan(i, m.server.Began[i], start, end, time.Duration(m.threshold)*time.Second) {
			if e.from, err = m.server.do(cue{i, e.from, e.on}); err != nil {
				return nil, err
			}
			if e.to, err = m.server.do(cue{i, e.to, e.off}); err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// deliveries returns the alerts since start.
func (m *run) deliveries(start time.Time) []webhookreceiver.Delivery {
	return slices.DeleteFunc(m.receiver.Accepted(), func(d webhookreceiver.Delivery) bool {
		return d.Received.Before(start) || d.EventType != black.alert && d.EventType != silence.alert
	})
}

// lateChecks counts the late checks that the log has reported since start.
func (m *run) lateChecks(start time.Time) (late lateChecks) {
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

// usage returns the CPU time that was used until now.
func (m *run) usage() (u usage) {
	u.cpuByRole, _ = m.tree.scan()
	u.postgres, _ = cpuOfTree(m.postmaster())
	u.server, _ = cpuOfTree(m.server.cmd.Process.Pid)
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil {
		u.program = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	}
	return u
}

// postmaster returns the process ID of PostgreSQL's first process; 0: it is not known.
func (m *run) postmaster() int {
	text, _ := os.ReadFile(filepath.Join(m.dir, "db", "postgres", "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// resources returns what is held now.
func (m *run) resources() (r resources) {
	_, live := m.tree.scan()
	for pid, role := range live {
		pss, _ := system.Process{PID: pid}.Memory()
		if role != product {
			r.ToolsBytes += pss
			continue
		}
		r.GatewayBytes += pss
		r.Descriptors += entries(fmt.Sprintf("/proc/%d/fd", pid))
		r.Threads += entries(fmt.Sprintf("/proc/%d/task", pid))
	}
	_, pids := cpuOfTree(m.postmaster())
	for _, pid := range pids {
		pss, _ := system.Process{PID: pid}.Memory()
		r.PostgresBytes += pss
	}
	r.Goroutines = m.goroutines()
	return r
}

func entries(dir string) int {
	all, _ := os.ReadDir(dir) // an error: the process has ended
	return len(all)
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

// databaseCounters returns how many segments were analysed and how many transactions ended.
func (m *run) databaseCounters(ctx context.Context) (checks, transactions int64, err error) {
	err = m.conn.QueryRowContext(ctx, `
		SELECT (SELECT COALESCE(sum(total_segments), 0) FROM monitor_stats),
		       (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database())`).Scan(&checks, &transactions)
	return checks, transactions, err
}

// profileGateway profiles the gateway's CPU until end, if that was asked for. The returned
// function waits for it, and writes profiles of memory and goroutines.
func (m *run) profileGateway(end time.Time) (finish func() error, err error) {
	if m.profile == "" {
		return func() error { return nil }, nil
	}
	cpu := make(chan error, 1)
	go func() {
		cpu <- m.saveProfile("profile?seconds="+strconv.Itoa(int(time.Until(end).Seconds())), "cpu.pprof")
	}()
	return func() error {
		return errors.Join(<-cpu, m.saveProfile("allocs", "allocs.pprof"), m.saveProfile("heap?gc=1", "heap.pprof"), m.saveProfile("goroutine?debug=1", "goroutines.txt"))
	}, nil
}

func (m *run) saveProfile(path, name string) error {
	res, err := http.Get(m.profiles + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	f, err := os.Create(filepath.Join(m.profile, fmt.Sprintf("%d-%s", m.n, name)))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}

func (m *run) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// close stops everything. The gateway may log late checks when it stops; they are added.
func (m *run) close(r *result) error {
	var errs []error
	if m.gateway != nil {
		stopped := time.Now()
		errs = append(errs, m.gateway.Stop())
		last := m.lateChecks(stopped)
		r.LateChecks.Late += last.Late
		r.LateChecks.LargestSec = max(r.LateChecks.LargestSec, last.LargestSec)
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
