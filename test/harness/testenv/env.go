package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// database is the directory of the private database below DATA_DIR.
const database = "postgres"

// Config is the configuration of an environment.
type Config struct {
	Binary string    // of stream-monitor; required
	Env    []string  // added to the gateway's environment, last
	Log    io.Writer // gets the gateway's log; nil: it is discarded
	Out    io.Writer // gets a line for each webhook; nil: it is discarded

	// Database is a directory that PrepareDatabase has made; the gateway starts on a copy of
	// it. Empty: it makes a database of its own.
	Database string

	// Address is the host at which the fakes listen. Empty: 127.0.0.1.
	Address string

	// SigningKey is that of the webhooks. Empty: system.SigningKey.
	SigningKey string

	// Recording makes a stand-in for yt-dlp answer where a test allows it
	// (youtube.Server.Replay), also after restarts. Nil: the real one always answers.
	Recording *youtube.Recording
}

// Env is a gateway with the fakes that it needs. It runs until Close.
type Env struct {
	YouTube  *youtube.Server
	Library  *livestream.Library
	Receiver *webhookreceiver.Receiver
	Service  *system.Service // the gateway that was started last

	// Renditions are those of the main scenario's stream. Nil: picture and sound together.
	Renditions []livestream.Rendition

	dir      string
	internal string   // address of the internal API, the same after a restart: surviving workers report there
	tools    []string // environment variables
}

// Start starts an environment and its gateway. It blocks until the gateway
// listens.
func Start(ctx context.Context, c Config) (*Env, error) {
	e, err := StartFakes(c)
	if err == nil {
		err = e.StartGateway(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// StartFakes starts the parts of an environment that are around a gateway.
func StartFakes(c Config) (e *Env, err error) {
	e = &Env{}
	if e.dir, err = os.MkdirTemp("", "stream-monitor-testenv-"); err != nil {
		return e, err
	}
	// The private database does not run as root, and must be able to enter.
	if err := os.Chmod(e.dir, 0o755); err != nil {
		return e, err
	}
	if e.Library, err = livestream.Open(livestream.Options{}); err != nil {
		return e, err
	}
	address := net.JoinHostPort(cmp.Or(c.Address, "127.0.0.1"), "0")
	if e.YouTube, err = youtube.Start(youtube.Config{Addr: address, Dir: e.FakeDir()}); err != nil {
		return e, err
	}
	if c.Recording != nil {
		if err := e.standIn(c.Recording); err != nil {
			return e, err
		}
	}
	e.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Addr: address, Key: cmp.Or(c.SigningKey, system.SigningKey), Out: c.Out})
	return e, err
}

// Dir returns the directory of everything that the environment stores.
func (e *Env) Dir() string { return e.dir }

// FakeDir returns the directory of the files that the variables of the fake YouTube name.
func (e *Env) FakeDir() string { return filepath.Join(e.dir, "youtube") }

// StartGateway starts the gateway of an environment, and blocks until it listens.
func (e *Env) StartGateway(ctx context.Context, c Config) (err error) {
	if e.internal, err = loopback.FreeAddress(); err != nil {
		return err
	}
	if ownDatabase := !slices.ContainsFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "DB_DSN=") }); c.Database != "" && ownDatabase {
		if err := CopyDatabase(ctx, c.Database, filepath.Join(e.dataDir(), database)); err != nil {
			return err
		}
	}
	return e.startService(ctx, c)
}

// PrepareDatabase starts a gateway with its data below dir, stops it, and returns the
// directory of its empty database. To create it and to apply the migrations takes a
// second of CPU time, which many environments need not spend again.
func PrepareDatabase(ctx context.Context, binary, dir string) (string, error) {
	data := filepath.Join(dir, "data")
	service, err := system.Start(ctx, system.Config{Binary: binary, DataDir: data})
	if err != nil {
		return "", err
	}
	return filepath.Join(data, database), service.Stop()
}

// CopyDatabase copies the database that PrepareDatabase has made to a directory, which it makes. The files keep their owner.
func CopyDatabase(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the database: %w: %s", err, out)
	}
	return nil
}

// dataDir returns the gateway's DATA_DIR.
func (e *Env) dataDir() string { return filepath.Join(e.dir, "data") }

// startService starts the gateway on the environment's data. After an error Service
// remains the previous gateway.
func (e *Env) startService(ctx context.Context, c Config) error {
	service, err := system.Start(ctx, system.Config{
		Binary:  c.Binary,
		DataDir: e.dataDir(),
		Env:     slices.Concat(e.YouTube.Env(), e.tools, []string{"INTERNAL_LISTEN_ADDR=" + e.internal}, c.Env),
		Log:     c.Log,
	})
	if err == nil {
		e.Service = service
	}
	return err
}

// StartBeside starts another gateway, with a data directory of its own, on the database that
// DB_DSN in c.Env names. The caller stops it before Close.
func (e *Env) StartBeside(ctx context.Context, c Config) (*system.Service, error) {
	dir, err := os.MkdirTemp(e.dir, "beside-")
	if err != nil {
		return nil, err
	}
	return system.Start(ctx, system.Config{
		Binary:  c.Binary,
		DataDir: dir,
		Env:     slices.Concat(e.YouTube.Env(), e.tools, c.Env),
		Log:     c.Log,
	})
}

// Restart stops the gateway in good order and starts it again on the same data.
func (e *Env) Restart(ctx context.Context, c Config) error {
	if err := e.Service.Stop(); err != nil {
		return err
	}
	return e.startService(ctx, c)
}

// KillAndRestart kills the gateway, but not its workers, and starts it again at
// once, as a service manager would.
func (e *Env) KillAndRestart(ctx context.Context, c Config) error {
	e.Service.Kill()
	return e.startService(ctx, c)
}

// Close stops everything, the gateway first. Error: each part that did not stop
// in good order.
func (e *Env) Close() error {
	var errs []error
	if e.Service != nil {
		errs = append(errs, e.Service.Stop())
	}
	if e.Receiver != nil {
		errs = append(errs, e.Receiver.Close())
	}
	if e.YouTube != nil {
		errs = append(errs, e.YouTube.Close())
	}
	if e.dir != "" {
		errs = append(errs, os.RemoveAll(e.dir))
	}
	return errors.Join(errs...)
}

// StartStream makes a video live at once. Its playlist lists what was broadcast
// in the last c.Preroll, by default a minute.
func (e *Env) StartStream(ctx context.Context, video string, c livestream.Config) (*livestream.Stream, error) {
	if c.Preroll == 0 {
		c.Preroll = time.Minute
	}
	stream, err := e.Library.Start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start a stream: %w", err)
	}
	e.YouTube.Add(video, youtube.Video{State: youtube.Live, Source: stream})
	return stream, nil
}

// WaitEvent waits for an accepted webhook of a type about a monitor. Error: it
// did not come before ctx ended.
func (e *Env) WaitEvent(ctx context.Context, monitorID, event string) (webhookreceiver.Delivery, error) {
	d, err := e.Receiver.Wait(ctx, func(d webhookreceiver.Delivery) bool {
		return d.Accepted && d.MonitorID == monitorID && d.EventType == event
	})
	if err != nil {
		return d, fmt.Errorf("no %s came about %s: %w; the gateway's log ends:\n%s", event, monitorID, err, e.Service.Tail(30))
	}
	return d, nil
}
