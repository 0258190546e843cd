package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// Config is how to set a stage.
type Config struct {
	Binary string    // of stream-monitor; required
	Env    []string  // for the service, after all else
	Log    io.Writer // gets the service's log; nil: nobody
	Out    io.Writer // gets a line for each webhook; nil: nobody
}

// Stage is set until Close.
type Env struct {
	YouTube  *youtube.Server
	Library  *livestream.Library
	Receiver *webhookreceiver.Receiver
	Service  *system.Service
	dir      string
	port     int // of the internal API: workers that outlive a gateway look for the next one there
}

// Set sets a stage, with the service started.
func Start(ctx context.Context, c Config) (s *Env, err error) {
	s = &Env{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "stream-monitor-stage-"); err != nil {
		return s, err
	}
	// The private database runs as another user than root, and must get in.
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return s, err
	}
	if s.Library, err = livestream.Open(livestream.Options{}); err != nil {
		return s, err
	}
	if s.YouTube, err = youtube.Start(youtube.Config{}); err != nil {
		return s, err
	}
	if s.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey, Out: c.Out}); err != nil {
		return s, err
	}
	if s.port, err = freePort(); err != nil {
		return s, err
	}
	return s, s.start(ctx, c)
}

// start starts the service on the stage's data.
func (s *Env) start(ctx context.Context, c Config) (err error) {
	s.Service, err = system.Start(ctx, system.Config{
		Binary:  c.Binary,
		DataDir: filepath.Join(s.dir, "data"),
		Env:     slices.Concat(s.YouTube.Env(), []string{fmt.Sprint("INTERNAL_LISTEN_ADDR=127.0.0.1:", s.port)}, c.Env),
		Log:     c.Log,
	})
	return err
}

// Restart ends the service and starts it again on the same data.
func (s *Env) Restart(ctx context.Context, c Config) error {
	if err := s.Service.Stop(); err != nil {
		return err
	}
	return s.start(ctx, c)
}

// Revive kills the service, and nothing that it has started, and starts it
// again at once, as a service manager would.
func (s *Env) KillAndRestart(ctx context.Context, c Config) error {
	s.Service.Kill()
	return s.start(ctx, c)
}

// freePort finds a port of the loopback that nobody listens at.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// Close ends everything, the service first, and says what did not end well.
func (s *Env) Close() error {
	var errs []error
	if s.Service != nil {
		errs = append(errs, s.Service.Stop())
	}
	if s.Receiver != nil {
		errs = append(errs, s.Receiver.Close())
	}
	if s.YouTube != nil {
		errs = append(errs, s.YouTube.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// Live puts a stream on the air at once, with a full playlist.
func (s *Env) StartStream(ctx context.Context, video string, c livestream.Config) (*livestream.Stream, error) {
	if c.Preroll == 0 {
		c.Preroll = time.Minute
	}
	stream, err := s.Library.Start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start a stream: %w", err)
	}
	s.YouTube.Add(video, youtube.Video{State: youtube.Live, Source: stream})
	return stream, nil
}
