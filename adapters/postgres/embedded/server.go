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
)

// Config says where the database lives.
type Config struct {
	DataDir string       // required; made, readable by this user only, if it is not there
	User    string       // who runs the server when this process is root and the database new; default postgres, else nobody
	Log     *slog.Logger // default: nothing is logged
}

// Pauses before a server that died is started again. The longest bounds how long
// it stays away after whatever ended it is over, such as a full disk. A server
// that has lived for settled died of something new.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 2 * time.Second
	settled    = 10 * time.Second
)

// Server is a private PostgreSQL that runs.
type Server struct {
	cluster cluster
	socket  socket
	lock    lockFile
	log     *slog.Logger
	full    repeated // "no space left"

	stop   context.CancelFunc // asks keep to end the server
	force  chan struct{}      // closed when Stop's context is done
	hasten sync.Once
	done   chan struct{} // closed by keep when the server has ended
}

// Start makes the database if there is none, starts its server and blocks
// until it answers. When it returns an error, nothing runs. Errors:
// ErrNotInstalled; and, with what to do about it in the text, another version,
// a directory that is no database, another gateway on DataDir.
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
	p, err := s.begin(ctx, filepath.Join(data, "postgres"), cfg.User)
	if err != nil {
		s.socket.remove()
		s.lock.release()
		if outOfSpace(err) {
			err = fmt.Errorf("%w; free some space where %s is, or choose another DATA_DIR", err, data)
		}
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.keep(run, p)
	return s, nil
}

// begin does what is done once: find, create, admit, launch.
func (s *Server) begin(ctx context.Context, dir, user string) (*process, error) {
	major, err := found(dir)
	if err != nil {
		return nil, err
	}
	bin, err := choose(ctx, major)
	if err != nil {
		return nil, err
	}
	if major != 0 && bin.major != major {
		return nil, fmt.Errorf("the database in %s is of PostgreSQL %d, and installed is %d (%s); nothing was touched: "+
			"install PostgreSQL %d, or move the data with pg_upgrade or pg_dump, or choose another DATA_DIR, or set DB_DSN",
			dir, major, bin.major, bin.dir, major)
	}
	ownDir := dir
	if major == 0 {
		ownDir = "" // an empty directory's owner says nothing
	}
	who, err := identify(ownDir, user)
	if err != nil {
		return nil, err
	}
	s.cluster = cluster{dir: dir, who: who, bin: bin}
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
	if err := s.cluster.admit(); err != nil {
		return nil, err
	}
	socket{scratch: s.lock.noted()}.remove() // of a gateway that was killed
	if s.socket, err = place(s.cluster); err != nil {
		return nil, err
	}
	if err := s.lock.note(s.socket.scratch); err != nil {
		return nil, err
	}
	p, err := s.launch(ctx)
	if err != nil {
		return nil, err
	}
	s.log.Info("database started", "directory", dir, "version", bin.major, "uid", who.uid(), "pid", p.pid())
	return p, nil
}

// DSN is how to connect: key=value words as lib/pq and psql take them.
func (s *Server) DSN() string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s.socket.dir)
	return fmt.Sprintf("host='%s' port=%s user=%s dbname=%s sslmode=disable", quoted, port, superuser, database)
}

// Stop ends the server and blocks until it has ended: a fast shutdown, which
// ends all connections, by force after stopGrace or when ctx is done. It is
// idempotent. Errors: that force was needed; nothing is lost then, but the next
// start takes longer.
func (s *Server) Stop(ctx context.Context) error {
	s.stop()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.hasten.Do(func() { close(s.force) })
		<-s.done
		return fmt.Errorf("private PostgreSQL: ended by force: %w", context.Cause(ctx))
	}
	return nil
}

// keep owns the server's process until run is done: it starts it again when it
// dies.
func (s *Server) keep(run context.Context, p *process) {
	defer close(s.done)
	defer s.lock.release()
	defer s.socket.remove()
	pause := firstPause
	var died, refused repeated
	for {
		began := time.Now()
		select {
		case <-run.Done():
			p.end(s.force)
			s.log.Info("database stopped")
			return
		case <-p.exited:
		}
		if time.Since(began) > settled {
			pause = firstPause
		}
		said := !died.already(p.how())
		if said {
			s.log.Error("database died, starting it again", "pid", p.pid(), "how", p.how(), "said", p.lines.last())
		}
		for p = nil; p == nil; pause = min(2*pause, mostPause) {
			if sleep(run, pause) != nil {
				return
			}
			var err error
			if p, err = s.launch(run); err != nil && run.Err() == nil && !refused.already(err.Error()) {
				said = true
				s.log.Error("database did not start, trying again until it does", "error", err.Error(), "pause_ms", mostPause.Milliseconds())
			}
		}
		if said {
			s.log.Info("database started", "pid", p.pid())
		}
	}
}
