//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// yard is what all sites share.
type yard struct {
	dir     string
	binary  string
	can     ability
	library *livestream.Library
	cluster cluster
	census  *census
	options options
}

// site is the service of one seed with everything around it.
type site struct {
	yard
	plan plan
	dir  string
	tmp  string // TMPDIR of all that the gateway starts; the site's mark in the census

	tube     *youtube.Server
	sink     *webhookreceiver.Receiver
	database *database // nil: the gateway's own
	pipes    [3]*pipe
	recorder *recorder
	keeper   *keeper
	staff    *staff
	leave    func() // the census

	zero     time.Time // when the monitors were registered
	monitors []*watched
	strikers sync.WaitGroup

	mu       sync.Mutex
	injected []injection
	missed   []string // faults that found nothing to strike
	notes    []string // what happened, for the log
	clocks   []setting
	disks    []string // mounted
}

// watched is a monitor and the truth about its stream.
type watched struct {
	script     script
	video      string
	stream     *livestream.Stream
	id         string
	live       time.Time
	registered time.Time
	ended      time.Time
	polls      polls
}

// injection is a fault that was injected, in true times.
type injection struct {
	name     string
	subject  subject
	monitor  string // whose, if it is one's
	from, to time.Time
}

// Sizes of the disks, in MiB. A database of its own keeps another 70 of write-ahead log.
const (
	dataDisk     = 16
	embeddedDisk = 260
	databaseDisk = 200
)

// open sets a site up, with the gateway started.
func open(ctx context.Context, y yard, p plan) (s *site, err error) {
	s = &site{yard: y, plan: p, dir: filepath.Join(y.dir, fmt.Sprint(p.seed)), staff: newStaff()}
	s.tmp = filepath.Join(s.dir, "tmp")
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, dir := range []string{s.dir, s.tmp, s.data(), s.path("postgres")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return s, err
		}
	}
	if err := os.Chmod(s.tmp, 0o777|os.ModeSticky); err != nil {
		return s, err
	}
	size := dataDisk
	if !p.external {
		size = embeddedDisk
	}
	if err := errors.Join(s.mount(s.data(), size), s.mount(s.path("postgres"), databaseDisk)); err != nil {
		return s, err
	}
	if s.tube, err = youtube.Start(youtube.Config{Dir: s.path("youtube")}); err != nil {
		return s, err
	}
	if s.sink, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey, Tolerance: clockWithin}); err != nil {
		return s, err
	}
	if s.pipes[toReceiver], err = newPipe("receiver", hostOf(s.sink.URL())); err != nil {
		return s, err
	}
	dsn := ""
	if p.external {
		if dsn, err = s.openDatabase(ctx); err != nil {
			return s, err
		}
	}
	internal := fmt.Sprintf("127.0.0.1:%d", freePort())
	if s.recorder, err = newRecorder(internal); err != nil {
		return s, err
	}
	if s.pipes[toGateway], err = newPipe("gateway", s.recorder.address()); err != nil {
		return s, err
	}
	if p.clock != 0 {
		if err := s.setClock(p.clock); err != nil {
			return s, err
		}
	}
	s.leave = s.census.watch(s.tmp, func(now time.Time, all []process) { s.staff.seen(now, s.tmp, all) })
	s.keeper = startKeeper(s.gateway(internal, dsn), p.crashes)
	return s, nil
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }
func (s *site) data() string            { return s.path("data") }

// mount puts a small disk somewhere, if that is possible here.
func (s *site) mount(at string, size int) error {
	if !s.can.disks {
		return nil
	}
	if err := mountDisk(at, size); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	s.disks = append(s.disks, at)
	return nil
}

// openDatabase starts the site's own PostgreSQL and the pipe to it.
func (s *site) openDatabase(ctx context.Context) (dsn string, err error) {
	clock := ""
	for _, k := range s.plan.strikes {
		if strings.Contains(k.kind.name, "PostgreSQL's clock") {
			clock = s.path("postgres-clock")
			if err := os.WriteFile(clock, []byte("+0\n"), 0o644); err != nil {
				return "", err
			}
		}
	}
	if s.database, err = startDatabase(ctx, s.cluster, s.path("postgres"), freePort(), clock); err != nil {
		return "", err
	}
	if s.pipes[toDatabase], err = newPipe("database", s.database.address()); err != nil {
		return "", err
	}
	return s.database.dsn(s.pipes[toDatabase].address()), nil
}

// gateway is how each of the gateways is started.
func (s *site) gateway(internal, dsn string) func(n int) system.Config {
	public := fmt.Sprintf("127.0.0.1:%d", freePort())
	return func(n int) system.Config {
		env := append(s.tube.Env(),
			"TMPDIR="+s.tmp, "LISTEN_ADDR="+public, "INTERNAL_LISTEN_ADDR="+internal,
			"FAULTS_GATEWAY_URL=http://"+s.pipes[toGateway].address(), "FAULTS_ACCEPTED="+s.path("books"),
			"CLOCK_OFFSET_FILE="+s.path("clock"), "WORKER_RUNTIME="+s.plan.runtime, "DB_DSN="+dsn, "CRASH_AT=",
			"MISSING_WORKER="+s.missing(),
		)
		if n < len(s.plan.crashes) {
			env = append(env, "CRASH_AT="+s.plan.crashes[n].String())
		}
		return system.Config{Binary: s.binary, DataDir: s.data(), Env: env}
	}
}

// missing is the policy for lost workers.
func (s *site) missing() string {
	if s.options.sabotage == "policy" {
		return "error"
	}
	return "relaunch"
}

// ask puts a question to the database past all pipes.
func (s *site) ask(ctx context.Context, question func(*sql.DB) error) error {
	if s.database != nil {
		return s.database.ask(ctx, question)
	}
	db, err := sql.Open("postgres", fmt.Sprintf("host='%s' port=5432 user=%s dbname=postgres sslmode=disable application_name=faults connect_timeout=3",
		filepath.Join(s.data(), "postgres"), superuser))
	if err != nil {
		return err
	}
	defer db.Close()
	return question(db)
}

// note writes something down.
func (s *site) note(format string, args ...any) {
	line := fmt.Sprintf("%7.3f s  %s", time.Since(s.zero).Seconds(), fmt.Sprintf(format, args...))
	if s.zero.IsZero() {
		line = "   before  " + fmt.Sprintf(format, args...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, line)
	if s.options.verbose {
		fmt.Printf("seed %d: %s\n", s.plan.seed, line)
	}
}

// stop ends the service in good order.
func (s *site) stop() {
	if s.keeper != nil {
		s.keeper.close()
	}
}

// close takes the site down; what must be looked at has been.
func (s *site) close() {
	s.stop()
	if s.leave != nil {
		s.leave()
	}
	_ = s.database.close()
	s.recorder.close()
	for _, p := range s.pipes {
		p.close()
	}
	if s.sink != nil {
		_ = s.sink.Close()
	}
	if s.tube != nil {
		_ = s.tube.Close()
	}
	for _, at := range s.disks {
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
	_ = os.RemoveAll(s.dir)
}

func hostOf(url string) string {
	rest := strings.TrimPrefix(url, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
