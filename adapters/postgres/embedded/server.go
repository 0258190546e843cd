package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// Config configures a Server.
type Config struct {
	DataDir string       // required; Start creates it, for this user only, if it does not exist
	Log     *slog.Logger // default: nothing is logged
}

// A server that died is started again after minRestartDelay. Each further death doubles
// the delay, up to maxRestartDelay. So the server runs again soon after the cause of its
// deaths, such as a full disk, is removed. A run of stableAfter resets the delay.
const (
	minRestartDelay = 250 * time.Millisecond
	maxRestartDelay = 2 * time.Second
	stableAfter     = 10 * time.Second
)

// Server is a running private PostgreSQL server.
type Server struct {
	cluster  cluster
	socket   socket
	lock     lockFile
	log      *slog.Logger
	diskFull throttle // of the log line about a full disk

	stop      context.CancelFunc // makes run end the server
	force     chan struct{}      // closed when Stop's context is done
	forceOnce sync.Once
	done      chan struct{} // closed by run when the server has ended
}

// Start creates the database if DataDir has none, starts its server and blocks until the
// server accepts connections. After an error no server runs. Errors: ErrNotInstalled; the
// cluster has another major version; the directory is not a cluster; another gateway runs
// on DataDir; the disk is full. Their texts say what to do.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		log:   cfg.Log.With("component", "postgres"),
		force: make(chan struct{}),
		done:  make(chan struct{}),
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	data, err := filepath.Abs(cfg.DataDir)
	if err == nil {
		data, err = filepath.EvalSymlinks(data)
	}
	if err != nil {
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	if s.lock, err = lockDir(data); err != nil {
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	p, err := s.prepare(ctx, filepath.Join(data, "postgres"))
	if err != nil {
		s.socket.remove()
		s.lock.release()
		if isDiskFull(err) {
			err = fmt.Errorf("%w; free some space where %s is, or choose another DATA_DIR", err, data)
		}
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.run(running, p)
	return s, nil
}

// prepare finds the binaries, creates a missing cluster, ends an orphaned server, and
// starts the server for the first time.
func (s *Server) prepare(ctx context.Context, dir string) (*process, error) {
	major, err := clusterVersion(dir)
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, major)
	if err != nil {
		return nil, err
	}
	if major != 0 && bin.major != major {
		return nil, fmt.Errorf("the database in %s needs PostgreSQL %d, but PostgreSQL %d is installed (%s); nothing was touched: "+
			"install PostgreSQL %d, or move the data with pg_upgrade or pg_dump, or choose another DATA_DIR, or set DB_DSN",
			dir, major, bin.major, bin.dir, major)
	}
	ownDir := dir
	if major == 0 {
		ownDir = "" // the owner of an empty directory need not be the cluster's owner
	}
	runAs, err := chooseUser(ownDir)
	if err != nil {
		return nil, err
	}
	s.cluster = cluster{dir: dir, user: runAs, bin: bin}
	if major == 0 {
		began := time.Now()
		if err := s.cluster.create(ctx); err != nil {
			return nil, err
		}
		s.log.Info("database created", "directory", dir, "version", bin.major, "took_ms", time.Since(began).Milliseconds())
	}
	if err := s.cluster.endOrphan(ctx, s.log); err != nil {
		return nil, err
	}
	if err := s.cluster.writeAccessFiles(); err != nil {
		return nil, err
	}
	socket{tempDir: s.lock.tempDir()}.remove() // a gateway that was killed has left it
	if s.socket, err = chooseSocket(s.cluster); err != nil {
		return nil, err
	}
	if err := s.lock.rememberTempDir(s.socket.tempDir); err != nil {
		return nil, err
	}
	p, err := s.launch(ctx)
	if err != nil {
		return nil, err
	}
	s.log.Info("database started", "directory", dir, "version", bin.major, "uid", runAs.uid(), "pid", p.pid())
	return p, nil
}

// DSN returns the connection string, as key=value words for lib/pq and psql.
func (s *Server) DSN() string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s.socket.dir)
	return fmt.Sprintf("host='%s' port=%s user=%s dbname=%s sslmode=disable", quoted, port, superuser, database)
}

// Stop ends the server and blocks until it has ended. It requests a fast shutdown, which
// ends all connections. After 5 s, or when ctx is done, it uses force. It is idempotent.
// Errors: ctx was done. No committed data is lost then, but the next start takes longer.
func (s *Server) Stop(ctx context.Context) error {
	s.stop()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.forceOnce.Do(func() { close(s.force) })
		<-s.done
		return fmt.Errorf("private PostgreSQL: ended by force: %w", context.Cause(ctx))
	}
	return nil
}

// run owns the server's process until ctx is done. It starts the server again when it
// dies.
func (s *Server) run(ctx context.Context, p *process) {
	defer close(s.done)
	defer s.lock.release()
	defer s.socket.remove()
	delay := minRestartDelay
	var deaths, failures throttle
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			p.end(s.force)
			s.log.Info("database stopped")
			return
		case <-p.exited:
		}
		if time.Since(began) > stableAfter {
			delay = minRestartDelay
		}
		logged := !deaths.suppresses(p.exitStatus())
		if logged {
			s.log.Error("database died, starting it again", "pid", p.pid(), "how", p.exitStatus(), "said", p.output.lastMessage())
		}
		for p = nil; p == nil; delay = min(2*delay, maxRestartDelay) {
			if !wait.For(ctx, delay) {
				return
			}
			var err error
			if p, err = s.launch(ctx); err != nil && ctx.Err() == nil && !failures.suppresses(err.Error()) {
				logged = true
				s.log.Error("database did not start, trying again until it does", "error", err.Error(), "pause_ms", maxRestartDelay.Milliseconds())
			}
		}
		level := slog.LevelDebug // of a start after a death that was not logged
		if logged {
			level = slog.LevelInfo
		}
		s.log.Log(ctx, level, "database started", "pid", p.pid())
	}
}
