//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/lib/pq" // registers the driver
	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/tcpproxy"
)

const (
	publicURL  = "https://watch.example"            // PUBLIC_URL: the links in messages begin with it, and name the incident
	webhookKey = "a-key-of-the-webhook-destination" // signs what the webhook destination gets

	databaseUser = "stream_monitor" // the role that the gateway connects as

	// Sizes of the disks. That of the database also holds its write-ahead log.
	dataDiskMiB     = 16
	databaseDiskMiB = 260

	// How far X-Timestamp may be from the true time: the hour that clocks are set off, and the
	// 300 s of section 12.2.
	timestampTolerance = time.Hour + 300*time.Second
)

// environment is the service of one seed with everything around it: streams,
// database, links, receivers, channels and gateways.
type environment struct {
	options  options
	schedule schedule
	tempDir  string // TMPDIR of every process

	youtube  *youtube.Server
	library  *livestream.Library
	gateways []*gateway
	calls    atomic.Int64 // to the API, which go to the gateways in turn

	database          *embedded.Server // nil: the gateway runs its own
	databaseLink      *link
	callback, webhook *webhookreceiver.Receiver // of the monitors, and of the webhook destination
	channels          map[string]*channel.Server
	receiverLinks     []*link // to all of these
	callbackURL       string  // through its link
	destinations      []map[string]any

	startedAt time.Time // when the monitors were registered
	monitors  []*monitorUnderTest
	cleanups  []func()
	audit     audit

	mu  sync.Mutex
	log []string // lines of the report
}

// newEnvironment creates the environment of a schedule and starts its gateways. Its close must be
// called after an error, too.
func newEnvironment(ctx context.Context, o options, s schedule) (env *environment, err error) {
	env = &environment{options: o, schedule: s, tempDir: filepath.Join(o.dir, "tmp"), channels: map[string]*channel.Server{}}
	env.startedAt, env.audit.numbers = time.Now(), map[string]int{}
	for _, dir := range []string{env.dataDir(0), env.dataDir(1), env.path("database"), env.tempDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return env, err
		}
		size := dataDiskMiB
		if dir == env.databaseDir() {
			size = databaseDiskMiB
		}
		if s.mountsDisks && dir != env.tempDir {
			if err := mountDisk(dir, size); err != nil {
				return env, err
			}
		}
	}
	if err := os.Chmod(env.tempDir, 0o777|os.ModeSticky); err != nil {
		return env, err
	}
	if env.library, err = livestream.Open(livestream.Options{}); err != nil {
		return env, err
	}
	if env.youtube, err = youtube.Start(youtube.Config{Dir: env.path("youtube")}); err != nil {
		return env, err
	}
	env.atEnd(func() { _ = env.youtube.Close() })
	if err := env.startReceivers(); err != nil {
		return env, err
	}
	dsn := ""
	if s.externalDatabase {
		if err := env.startDatabase(ctx); err != nil {
			return env, err
		}
		env.atEnd(func() { _ = env.database.Stop(context.Background()) })
		if env.databaseLink, err = env.addLink("unix", filepath.Join(env.databaseDir(), "postgres", ".s.PGSQL.5432")); err != nil {
			return env, err
		}
		dsn = fmt.Sprintf("postgres://%s@%s/postgres?sslmode=disable", databaseUser, env.databaseLink.address())
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

// mountDisk mounts a disk of size MiB. It ends with the namespace.
func mountDisk(at string, size int) error {
	return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%dm,mode=0755", size))
}

func (env *environment) path(name string) string    { return filepath.Join(env.options.dir, name) }
func (env *environment) dataDir(gateway int) string { return env.path(fmt.Sprint("data", gateway)) }
func (env *environment) binary() string             { return env.path("../stream-monitor") }

// databaseDir returns the directory of the database server, a disk of its own.
func (env *environment) databaseDir() string {
	if env.schedule.externalDatabase {
		return env.path("database")
	}
	return env.dataDir(0)
}

// startDatabase starts the external database: a server such as a gateway has, but one that
// outlives its gateways.
func (env *environment) startDatabase(ctx context.Context) (err error) {
	env.database, err = embedded.Start(ctx, embedded.Config{DataDir: env.databaseDir()})
	return err
}

// addLink makes a link to an address, where nothing needs to listen yet.
func (env *environment) addLink(network, target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &link{tcpproxy.Start(listener, tcpproxy.To(network, target))}
	env.atEnd(l.Close)
	return l, nil
}

// startReceivers starts the receivers of webhooks and three channels, with a link to each. The
// channels tell of an incident in one message that is edited, in new messages, and in the state
// of an alert.
func (env *environment) startReceivers() (err error) {
	// linked returns the URL that leads through a link.
	linked := func(to string) string {
		address, path, _ := strings.Cut(strings.TrimPrefix(to, "http://"), "/")
		l, linkErr := env.addLink("tcp", address)
		if err = errors.Join(err, linkErr); linkErr != nil {
			return ""
		}
		env.receiverLinks = append(env.receiverLinks, l)
		return "http://" + l.address() + "/" + path
	}
	receiver := func(key string) *webhookreceiver.Receiver {
		r, startErr := webhookreceiver.Start(webhookreceiver.Config{Key: key, Tolerance: timestampTolerance})
		if err = errors.Join(err, startErr); startErr == nil {
			env.atEnd(func() { _ = r.Close() })
		}
		return r
	}
	if env.callback, env.webhook = receiver(system.SigningKey), receiver(webhookKey); err != nil {
		return err
	}
	env.callbackURL = linked(env.callback.URL())
	env.addDestination("webhook", map[string]any{}, map[string]any{"url": linked(env.webhook.URL()), "signing_key": webhookKey})
	chat, hook, alerts := slack.New(), teams.New(), pagerduty.New()
	for kind, fake := range map[string]*channel.Server{"slack": chat.Server, "teams": hook.Server, "pagerduty": alerts.Server} {
		env.channels[kind] = fake
		env.atEnd(fake.Close)
	}
	env.addDestination("slack", map[string]any{"channel": slack.ChannelID, "api_url": linked(chat.APIURL())}, map[string]any{"bot_token": slack.Token})
	env.addDestination("teams", map[string]any{}, map[string]any{"workflow_url": linked(hook.WorkflowURL())})
	env.addDestination("pagerduty", map[string]any{"api_url": linked(alerts.URL)}, map[string]any{"routing_key": pagerduty.RoutingKey})
	return err
}

func (env *environment) addDestination(kind string, config, secrets map[string]any) {
	env.destinations = append(env.destinations, map[string]any{"name": kind, "kind": kind, "config": config, "secrets": secrets})
}

// addGateway starts a gateway with the link between its workers and itself.
func (env *environment) addGateway(index int, plan gatewayPlan, dsn string) (err error) {
	public, publicErr := loopback.FreeAddress()
	internal, internalErr := loopback.FreeAddress()
	if err := errors.Join(publicErr, internalErr); err != nil {
		return err
	}
	g := &gateway{env: env, plan: plan, dataDir: env.dataDir(index), clockFile: env.path(fmt.Sprint("clock", index))}
	if g.link, err = env.addLink("tcp", internal); err != nil {
		return err
	}
	if err := g.setClock(plan.clockOffset); err != nil {
		return err
	}
	g.settings = append(env.youtube.Env(),
		"TMPDIR="+env.tempDir, "LISTEN_ADDR="+public, "INTERNAL_LISTEN_ADDR="+internal,
		"FAULTS_GATEWAY_URL=http://"+g.link.address(), "FAULTS_ACCEPTED="+env.path("accepted"), "CLOCK_OFFSET_FILE="+g.clockFile,
		"WORKER_RUNTIME="+env.schedule.runtime, "DB_DSN="+dsn, "MISSING_WORKER=relaunch", "PUBLIC_URL="+publicURL,
	)
	g.settings = slices.Clip(g.settings)
	env.gateways = append(env.gateways, g)
	g.start()
	env.atEnd(g.close)
	return nil
}

// call sends a request to a gateway that listens, another one at each call. Error: it is answered
// with another status.
func (env *environment) call(ctx context.Context, method, path string, body any, status int, headers ...[2]string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	n := int(env.calls.Add(1))
	for i := range env.gateways {
		service := env.gateways[(n+i)%len(env.gateways)].current()
		if service == nil {
			continue
		}
		response, err := service.Call(ctx, method, path, body, headers...)
		if err == nil && response.Status != status {
			err = fmt.Errorf("%s %s: %d %v", method, path, response.Status, response.Body)
		}
		return response.Body, err
	}
	return nil, errors.New("no gateway listens")
}

// texts returns the rows of a query of one text. Its connection bypasses the link, so that no link
// fault affects the check.
func (env *environment) texts(ctx context.Context, query string) (all []string, err error) {
	db, err := sql.Open("postgres", fmt.Sprintf("host='%s' user=%s dbname=postgres sslmode=disable application_name=chaos connect_timeout=3",
		filepath.Join(env.databaseDir(), "postgres"), databaseUser))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, query)
	}
	defer rows.Close()
	for rows.Next() {
		all = append(all, "")
		if err := rows.Scan(&all[len(all)-1]); err != nil {
			return nil, fmt.Errorf("%w: %s", err, query)
		}
	}
	return all, rows.Err()
}

// none returns an error with the rows of a query of one text, if there are any.
func (env *environment) none(ctx context.Context, query string) error {
	rows, err := env.texts(ctx, query)
	if err == nil && len(rows) > 0 {
		err = errors.New(strings.Join(rows, "; "))
	}
	return err
}

// logf adds a line to the run's log, with the seconds since the monitors were
// registered.
func (env *environment) logf(format string, args ...any) {
	line := fmt.Sprintf("%7.3f s  %s", time.Since(env.startedAt).Seconds(), fmt.Sprintf(format, args...))
	env.mu.Lock()
	defer env.mu.Unlock()
	env.log = append(env.log, line)
	if env.options.verbose {
		fmt.Printf("seed %d: %s\n", env.schedule.seed, line)
	}
}
