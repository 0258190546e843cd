//go:build linux

package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
// database, links, receiver and gateways.
type environment struct {
	sharedEnvironment
	schedule schedule
	dir      string
	tempDir  string // TMPDIR of every process of this environment, which identifies them

	youtube     *youtube.Server
	receiver    *webhookreceiver.Receiver
	database    *database // nil: the gateway runs its own server
	links       [2]*link  // to the database and to the receiver
	gateways    []*gateway
	calls       atomic.Int64 // to the API, which go to the gateways in turn
	workers     *workerHistory
	unsubscribe func() // from the process tracker

	destination     *webhookreceiver.Receiver // of the webhook destination
	destinationLink *link
	channels        []channelUnderTest
	deleted         channelUnderTest  // whose destination is deleted in the run; without a fake: none
	destinationIDs  map[string]string // by name
	defaultRouteID  string

	startedAt time.Time // when the monitors were registered
	monitors  []*monitorUnderTest
	injecting sync.WaitGroup

	mu       sync.Mutex
	injected []injection
	missed   []string // fault types that found no target
	done     operationRecords
	log      []string // lines of the report
	mounts   []string
}

// Sizes of the disks. The separate database's own disk also holds 64 MiB of
// write-ahead log.
const (
	dataDiskMiB             = 16
	embeddedDatabaseDiskMiB = 260
	databaseDiskMiB         = 200
)

// newEnvironment creates the environment of a seed and starts its gateways.
func newEnvironment(ctx context.Context, shared sharedEnvironment, s schedule) (env *environment, err error) {
	env = &environment{sharedEnvironment: shared, schedule: s, dir: filepath.Join(shared.dir, fmt.Sprint(s.seed)), workers: newWorkerHistory()}
	env.tempDir = filepath.Join(env.dir, "tmp")
	defer func() {
		if err != nil {
			env.close()
		}
	}()
	for _, dir := range []string{env.dir, env.tempDir, env.dataDir(0), env.dataDir(1), env.path("postgres")} {
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
	if err := errors.Join(env.mount(env.dataDir(0), size), env.mount(env.dataDir(1), dataDiskMiB), env.mount(env.path("postgres"), databaseDiskMiB)); err != nil {
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
	env.unsubscribe = env.processes.subscribe(env.tempDir, func(now time.Time, all []process) { env.workers.observe(now, env.tempDir, all) })
	for index, plan := range s.gateways {
		if err := env.addGateway(index, plan, dsn); err != nil {
			return env, err
		}
	}
	return env, nil
}

// addGateway starts a gateway with the proxies between its workers and itself.
func (env *environment) addGateway(index int, plan gatewayPlan, dsn string) (err error) {
	g := &gateway{dataDir: env.dataDir(index), clockFile: env.path(fmt.Sprint("clock", index))}
	env.gateways = append(env.gateways, g)
	internal := fmt.Sprintf("127.0.0.1:%d", freePort())
	if g.recorder, err = newReportRecorder(internal); err != nil {
		return err
	}
	if g.link, err = newLink("gateway", g.recorder.address()); err != nil {
		return err
	}
	if offset := cmp.Or(plan.clockOffset, env.schedule.clockOffset); offset != 0 {
		if err := env.setClockOffset(index, offset); err != nil {
			return err
		}
	}
	g.gatewayRunner = startGateway(index, env.gatewayConfig(g, internal, dsn, plan.crashes), plan.crashes)
	return nil
}

func (env *environment) path(name string) string    { return filepath.Join(env.dir, name) }
func (env *environment) dataDir(gateway int) string { return env.path(fmt.Sprint("data", gateway)) }

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
	if env.database, err = startDatabase(ctx, env.template, env.path("postgres"), freePort()); err != nil {
		return "", err
	}
	if env.links[databaseLink], err = newLink("database", env.database.address()); err != nil {
		return "", err
	}
	return env.database.dsn(env.links[databaseLink].address), nil
}

// gatewayConfig returns the function that makes the configuration of the nth
// run of a gateway.
func (env *environment) gatewayConfig(g *gateway, internal, dsn string, crashes []crash) func(n int) system.Config {
	public := fmt.Sprintf("127.0.0.1:%d", freePort())
	return func(n int) system.Config {
		variables := append(env.youtube.Env(),
			"TMPDIR="+env.tempDir, "LISTEN_ADDR="+public, "INTERNAL_LISTEN_ADDR="+internal,
			"FAULTS_GATEWAY_URL=http://"+g.link.address, "FAULTS_ACCEPTED="+env.path("accepted"),
			"CLOCK_OFFSET_FILE="+g.clockFile, "WORKER_RUNTIME="+env.schedule.runtime, "DB_DSN="+dsn, "CRASH_AT=",
			"MISSING_WORKER="+env.missingWorkerPolicy(), "PUBLIC_URL="+publicURL, "SSL_CERT_DIR="+env.path("trusted"),
		)
		if n < len(crashes) {
			variables = append(variables, "CRASH_AT="+crashes[n].String())
		}
		return system.Config{Binary: env.binary, DataDir: g.dataDir, Env: variables}
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
		filepath.Join(env.dataDir(0), "postgres"), superuser))
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

// shutDown stops all gateways in an orderly way.
func (env *environment) shutDown() {
	var all sync.WaitGroup
	for _, g := range env.gateways {
		all.Go(g.close)
	}
	all.Wait()
}

// service returns a gateway that listens, another one at each call; nil if none does.
func (env *environment) service() *system.Service {
	n := int(env.calls.Add(1))
	for i := range env.gateways {
		if s := env.gateways[(n+i)%len(env.gateways)].service(); s != nil {
			return s
		}
	}
	return nil
}

// target returns the gateway that a fault affects.
func (env *environment) target(f fault) *gateway { return env.gateways[f.gateway] }

// close tears the environment down.
func (env *environment) close() {
	env.shutDown()
	if env.unsubscribe != nil {
		env.unsubscribe()
	}
	_ = env.database.close()
	for _, g := range env.gateways {
		g.recorder.close()
		g.link.close()
	}
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
