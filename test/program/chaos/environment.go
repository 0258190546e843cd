//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	dir         string
	binary      string
	mountsDisks bool
	library     *livestream.Library
	processes   *processTracker
	options     options
}

// environment is the service of one seed with everything around it: streams,
// database, links, receiver and gateways.
type environment struct {
	sharedEnvironment
	schedule schedule
	dir      string
	tempDir  string // TMPDIR of every process of this environment, which identifies them

	youtube  *youtube.Server
	receiver *webhookreceiver.Receiver
	database *database // nil: the gateway runs its own server
	gateways []*gateway
	calls    atomic.Int64 // to the API, which go to the gateways in turn

	destination                                 *webhookreceiver.Receiver // of the webhook destination
	databaseLink, receiverLink, destinationLink *link
	channels                                    []channelUnderTest
	destinationIDs                              map[string]string // by name

	startedAt time.Time // when the monitors were registered
	monitors  []*monitorUnderTest
	injecting sync.WaitGroup
	cleanups  []func()

	mu    sync.Mutex
	audit audit
	log   []string // lines of the report
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
	env = &environment{sharedEnvironment: shared, schedule: s, dir: filepath.Join(shared.dir, fmt.Sprint(s.seed))}
	env.atEnd(func() { _ = os.RemoveAll(env.dir) })
	env.audit = audit{schedule: s, counters: counters{injected: map[string]int{}, missed: map[string]int{}}}
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
	env.atEnd(func() { _ = env.youtube.Close() })
	if env.receiver, env.receiverLink, err = env.startReceiver("receiver", system.SigningKey); err != nil {
		return env, err
	}
	if env.destination, env.destinationLink, err = env.startReceiver("webhook destination", destinationKey); err != nil {
		return env, err
	}
	if err := env.startChannels(); err != nil {
		return env, err
	}
	dsn := ""
	if s.externalDatabase {
		if dsn, err = env.setUpDatabase(ctx); err != nil {
			return env, err
		}
	}
	for index, plan := range s.gateways {
		if err := env.addGateway(index, plan, dsn); err != nil {
			return env, err
		}
	}
	return env, nil
}

// atEnd lets close call a function, the last one first.
func (env *environment) atEnd(clean func()) { env.cleanups = append(env.cleanups, clean) }

// close tears the environment down.
func (env *environment) close() {
	for _, clean := range slices.Backward(env.cleanups) {
		clean()
	}
}

// addLink makes a link to an address.
func (env *environment) addLink(name, target string) (*link, error) {
	l, err := newLink(name, target)
	if err == nil {
		env.atEnd(l.close)
	}
	return l, err
}

// startReceiver starts a receiver of webhooks that are signed with a key, and a link to it.
func (env *environment) startReceiver(name, key string) (*webhookreceiver.Receiver, *link, error) {
	r, err := webhookreceiver.Start(webhookreceiver.Config{Key: key, Tolerance: timestampTolerance})
	if err != nil {
		return nil, nil, err
	}
	env.atEnd(func() { _ = r.Close() })
	l, err := env.addLink(name, hostOf(r.URL()))
	return r, l, err
}

// addGateway starts a gateway with the link between its workers and itself.
func (env *environment) addGateway(index int, plan gatewayPlan, dsn string) (err error) {
	g := &gateway{index: index, dataDir: env.dataDir(index), clockFile: env.path(fmt.Sprint("clock", index)), crashes: plan.crashes}
	env.gateways = append(env.gateways, g)
	internal := fmt.Sprintf("%s:%d", localhost, freePort())
	if g.link, err = env.addLink("gateway", internal); err != nil {
		return err
	}
	if err := env.setClockOffset(index, plan.clockOffset); err != nil {
		return err
	}
	g.config = env.gatewayConfig(g, internal, dsn)
	g.start()
	env.atEnd(g.close)
	return nil
}

func (env *environment) path(name string) string    { return filepath.Join(env.dir, name) }
func (env *environment) dataDir(gateway int) string { return env.path(fmt.Sprint("data", gateway)) }

// mount mounts a small disk (tmpfs) at a directory if this machine allows it.
func (env *environment) mount(at string, size int) error {
	if !env.mountsDisks {
		return nil
	}
	if err := mountDisk(at, size); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	env.atEnd(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	return nil
}

// setUpDatabase starts the seed's own PostgreSQL server and the link to it.
func (env *environment) setUpDatabase(ctx context.Context) (dsn string, err error) {
	if env.database, err = startDatabase(ctx, env.path("postgres"), freePort()); err != nil {
		return "", err
	}
	env.atEnd(env.database.close)
	if env.databaseLink, err = env.addLink("database", env.database.address()); err != nil {
		return "", err
	}
	err = env.waitFor(ctx, startTimeout, func(ctx context.Context) error {
		return env.eachRow(ctx, `SELECT 1`, func(*sql.Rows) error { return nil })
	})
	return env.database.dsn(env.databaseLink.address), err
}

// gatewayConfig returns the function that makes the configuration of the nth
// run of a gateway.
func (env *environment) gatewayConfig(g *gateway, internal, dsn string) func(n int) system.Config {
	public := fmt.Sprintf("%s:%d", localhost, freePort())
	return func(n int) system.Config {
		variables := append(env.youtube.Env(),
			"TMPDIR="+env.tempDir, "LISTEN_ADDR="+public, "INTERNAL_LISTEN_ADDR="+internal,
			"FAULTS_GATEWAY_URL=http://"+g.link.address, "FAULTS_ACCEPTED="+env.path("accepted"),
			"CLOCK_OFFSET_FILE="+g.clockFile, "WORKER_RUNTIME="+env.schedule.runtime, "DB_DSN="+dsn, "CRASH_AT=",
			"MISSING_WORKER=relaunch", "PUBLIC_URL="+publicURL, "SSL_CERT_DIR="+env.path("trusted"),
		)
		if n < len(g.crashes) {
			variables = append(variables, "CRASH_AT="+g.crashes[n].String())
		}
		return system.Config{Binary: env.binary, DataDir: g.dataDir, Env: variables}
	}
}

// eachRow calls read for each row of a query. Its connection bypasses the link, so that no
// link fault affects the check.
func (env *environment) eachRow(ctx context.Context, query string, read func(*sql.Rows) error, args ...any) error {
	dsn := fmt.Sprintf("host='%s' port=5432 user=%s dbname=postgres sslmode=disable application_name=faults connect_timeout=3", filepath.Join(env.dataDir(0), "postgres"), superuser)
	if env.database != nil {
		dsn = env.database.dsn(env.database.address()) + "&application_name=faults&connect_timeout=3"
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// find adds a finding to the audit.
func (env *environment) find(format string, args ...any) {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.audit.find(format, args...)
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

func hostOf(url string) string {
	rest := strings.TrimPrefix(url, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
