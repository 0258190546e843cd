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

// timestampTolerance is how far X-Timestamp may be from the true time: the hour
// that clocks are set off, and the 300 s of section 12.2.
const timestampTolerance = time.Hour + 300*time.Second

// sharedEnvironment is the part of the environment that all seeds share.
type sharedEnvironment struct {
	dir          string
	binary       string
	capabilities capabilities
	library      *livestream.Library
	template     databaseTemplate
	processes    *processTracker
	options      options
}

// environment is the service of one seed with everything around it: streams,
// database, links, receiver and gateway.
type environment struct {
	sharedEnvironment
	schedule schedule
	dir      string
	tempDir  string // TMPDIR of every process of this environment, which identifies them

	youtube     *youtube.Server
	receiver    *webhookreceiver.Receiver
	database    *database // nil: the gateway runs its own server
	links       [3]*link
	recorder    *reportRecorder
	gateways    *gatewayRunner
	workers     *workerHistory
	unsubscribe func() // from the process tracker

	destination     *webhookreceiver.Receiver // of the webhook destination
	destinationLink *link
	channels        []channelUnderTest
	destinationIDs  map[string]string // by name

	startedAt time.Time // when the monitors were registered
	monitors  []*monitorUnderTest
	injecting sync.WaitGroup

	mu            sync.Mutex
	injected      []injection
	missed        []string // fault types that found no target
	log           []string // lines of the report
	clockSettings []clockSetting
	mounts        []string
}

// Sizes of the disks. The separate database's own disk also holds 64 MiB of
// write-ahead log.
const (
	dataDiskMiB             = 16
	embeddedDatabaseDiskMiB = 260
	databaseDiskMiB         = 200
)

// newEnvironment creates the environment of a seed and starts its gateway.
func newEnvironment(ctx context.Context, shared sharedEnvironment, s schedule) (env *environment, err error) {
	env = &environment{sharedEnvironment: shared, schedule: s, dir: filepath.Join(shared.dir, fmt.Sprint(s.seed)), workers: newWorkerHistory()}
	env.tempDir = filepath.Join(env.dir, "tmp")
	defer func() {
		if err != nil {
			env.close()
		}
	}()
	for _, dir := range []string{env.dir, env.tempDir, env.dataDir(), env.path("postgres")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return env, err
		}
	}
	if err := os.Chmod(env.tempDir, 0o777|os.ModeSticky); err != nil {
		return env, err
	}
	size := dataDiskMiB
	if !s.externalDatabase {
		size = embeddedDatabaseDiskMiB
	}
	if err := errors.Join(env.mount(env.dataDir(), size), env.mount(env.path("postgres"), databaseDiskMiB)); err != nil {
		return env, err
	}
	if env.youtube, err = youtube.Start(youtube.Config{Dir: env.path("youtube")}); err != nil {
		return env, err
	}
	if env.receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey, Tolerance: timestampTolerance}); err != nil {
		return env, err
	}
	if env.links[receiverLink], err = newLink("receiver", hostOf(env.receiver.URL())); err != nil {
		return env, err
	}
	if err := env.startDestinations(); err != nil {
		return env, err
	}
	dsn := ""
	if s.externalDatabase {
		if dsn, err = env.setUpDatabase(ctx); err != nil {
			return env, err
		}
	}
	internal := fmt.Sprintf("127.0.0.1:%d", freePort())
	if env.recorder, err = newReportRecorder(internal); err != nil {
		return env, err
	}
	if env.links[gatewayLink], err = newLink("gateway", env.recorder.address()); err != nil {
		return env, err
	}
	if s.clockOffset != 0 {
		if err := env.setClockOffset(s.clockOffset); err != nil {
			return env, err
		}
	}
	env.unsubscribe = env.processes.subscribe(env.tempDir, func(now time.Time, all []process) { env.workers.observe(now, env.tempDir, all) })
	env.gateways = startGateways(env.gatewayConfig(internal, dsn), s.crashes)
	return env, nil
}

func (env *environment) path(name string) string { return filepath.Join(env.dir, name) }
func (env *environment) dataDir() string         { return env.path("data") }

// mount mounts a small disk (tmpfs) at a directory if this machine allows it.
func (env *environment) mount(at string, size int) error {
	if !env.capabilities.mountDisks {
		return nil
	}
	if err := mountDisk(at, size); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	env.mounts = append(env.mounts, at)
	return nil
}

// setUpDatabase starts the seed's own PostgreSQL server and the link to it.
func (env *environment) setUpDatabase(ctx context.Context) (dsn string, err error) {
	clock := ""
	for _, f := range env.schedule.faults {
		if strings.Contains(f.kind.name, "PostgreSQL's clock") {
			clock = env.path("postgres-clock")
			if err := os.WriteFile(clock, []byte("+0\n"), 0o644); err != nil {
				return "", err
			}
		}
	}
	if env.database, err = startDatabase(ctx, env.template, env.path("postgres"), freePort(), clock); err != nil {
		return "", err
	}
	if env.links[databaseLink], err = newLink("database", env.database.address()); err != nil {
		return "", err
	}
	return env.database.dsn(env.links[databaseLink].address()), nil
}

// gatewayConfig returns the function that makes the configuration of the nth
// gateway.
func (env *environment) gatewayConfig(internal, dsn string) func(n int) system.Config {
	public := fmt.Sprintf("127.0.0.1:%d", freePort())
	return func(n int) system.Config {
		variables := append(env.youtube.Env(),
			"TMPDIR="+env.tempDir, "LISTEN_ADDR="+public, "INTERNAL_LISTEN_ADDR="+internal,
			"FAULTS_GATEWAY_URL=http://"+env.links[gatewayLink].address(), "FAULTS_ACCEPTED="+env.path("accepted"),
			"CLOCK_OFFSET_FILE="+env.path("clock"), "WORKER_RUNTIME="+env.schedule.runtime, "DB_DSN="+dsn, "CRASH_AT=",
			"MISSING_WORKER="+env.missingWorkerPolicy(), "PUBLIC_URL="+publicURL,
		)
		if n < len(env.schedule.crashes) {
			variables = append(variables, "CRASH_AT="+env.schedule.crashes[n].String())
		}
		return system.Config{Binary: env.binary, DataDir: env.dataDir(), Env: variables}
	}
}

// missingWorkerPolicy is the setting MISSING_WORKER.
func (env *environment) missingWorkerPolicy() string {
	if env.options.mutation == "policy" {
		return "error"
	}
	return "relaunch"
}

// withDatabase calls use with a connection that bypasses the link, so that no
// link fault affects the check.
func (env *environment) withDatabase(ctx context.Context, use func(*sql.DB) error) error {
	if env.database != nil {
		return env.database.query(ctx, use)
	}
	db, err := sql.Open("postgres", fmt.Sprintf("host='%s' port=5432 user=%s dbname=postgres sslmode=disable application_name=faults connect_timeout=3",
		filepath.Join(env.dataDir(), "postgres"), superuser))
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db)
}

// logf adds a line to the run's log, with the seconds since the monitors were
// registered.
func (env *environment) logf(format string, args ...any) {
	line := fmt.Sprintf("%7.3f s  %s", time.Since(env.startedAt).Seconds(), fmt.Sprintf(format, args...))
	if env.startedAt.IsZero() {
		line = "   before  " + fmt.Sprintf(format, args...)
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.log = append(env.log, line)
	if env.options.verbose {
		fmt.Printf("seed %d: %s\n", env.schedule.seed, line)
	}
}

// shutDown stops the gateway in an orderly way.
func (env *environment) shutDown() {
	if env.gateways != nil {
		env.gateways.close()
	}
}

// close tears the environment down.
func (env *environment) close() {
	env.shutDown()
	if env.unsubscribe != nil {
		env.unsubscribe()
	}
	_ = env.database.close()
	env.recorder.close()
	for _, l := range env.links {
		l.close()
	}
	env.closeDestinations()
	if env.receiver != nil {
		_ = env.receiver.Close()
	}
	if env.youtube != nil {
		_ = env.youtube.Close()
	}
	for _, at := range env.mounts {
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
	_ = os.RemoveAll(env.dir)
}

func hostOf(url string) string {
	rest := strings.TrimPrefix(url, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
