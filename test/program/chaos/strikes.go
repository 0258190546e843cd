//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// errNobody says that there was nothing to strike.
var errNobody = errors.New("there was nothing to strike")

// strikeAll carries out faults, each at its time since an instant, and returns
// when all are over.
func (s *site) strikeAll(ctx context.Context, since time.Time, all []strike) {
	for _, k := range all {
		s.strikers.Go(func() {
			pause(ctx, time.Until(since.Add(k.at)))
			if ctx.Err() != nil {
				return
			}
			began := time.Now()
			k.began = &began
			err := k.kind.strike(ctx, s, k)
			i := injection{name: k.kind.name, subject: k.kind.subject, from: began, to: time.Now()}
			if k.kind.personal {
				i.monitor = s.monitors[k.monitor].id
			}
			s.mu.Lock()
			if err != nil {
				i.name = "" // what came before it may have done something all the same
				s.missed = append(s.missed, k.kind.name)
			}
			s.injected = append(s.injected, i)
			s.mu.Unlock()
			if err != nil {
				s.note("%s: %v", k, err)
			} else {
				s.note("over: %s", k)
			}
		})
	}
	s.strikers.Wait()
}

func killGateway(_ context.Context, s *site, k strike) error {
	s.note("%s", k)
	if err := s.keeper.kill(); err != nil {
		return fmt.Errorf("%w: %w", errNobody, err)
	}
	return nil
}

// killPair kills a worker and, before the gateway can know, the gateway.
func killPair(ctx context.Context, s *site, k strike) error {
	p, err := target(ctx, s, k, workerRole)
	if err != nil {
		return err
	}
	s.note("%s: %s", k, p)
	p.signal(killSignal)
	return s.keeper.kill()
}

// killAll is a power cut: whatever runs ends at the same moment.
func killAll(_ context.Context, s *site, k strike) error {
	family := s.census.fresh(s.tmp)
	s.note("%s: %d processes, and PostgreSQL", k, len(family))
	for _, p := range s.postgres() {
		p.signal(killSignal)
	}
	for _, p := range family {
		if p.role != gatewayRole {
			p.signal(killSignal)
		}
	}
	return s.keeper.kill()
}

func restartGateway(_ context.Context, s *site, k strike) error {
	s.note("%s", k)
	return s.keeper.restart()
}

func stopGateway(ctx context.Context, s *site, k strike) error {
	l := s.keeper.newest()
	if l == nil {
		return errNobody
	}
	s.note("%s", k)
	if err := l.system.Signal(stopSignal); err != nil {
		return fmt.Errorf("%w: %w", errNobody, err)
	}
	pause(ctx, k.by)
	_ = l.system.Signal(goSignal)
	return nil
}

// targetLimit is how long a fault waits for something to strike.
const targetLimit = 4 * time.Second

// target waits for a process of a role that works for the strike's monitor.
func target(ctx context.Context, s *site, k strike, r role) (process, error) {
	deadline := time.Now().Add(targetLimit)
	for {
		for _, p := range s.census.fresh(s.tmp) {
			mine := p.monitor == s.monitors[k.monitor].id || s.plan.runtime == "inline"
			if p.role == r && mine && !p.zombie() && p.state != 'T' {
				return p, nil
			}
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return process{}, fmt.Errorf("%w: no %s for %s", errNobody, r, targetLimit)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func killOne(r role) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		p, err := target(ctx, s, k, r)
		if err != nil {
			return err
		}
		s.note("%s: %s", k, p)
		p.signal(killSignal)
		return nil
	}
}

func stopOne(r role) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		p, err := target(ctx, s, k, r)
		if err != nil {
			return err
		}
		s.note("%s: %s", k, p)
		p.signal(stopSignal)
		pause(ctx, k.by)
		p.signal(goSignal)
		return nil
	}
}

// expired has a worker look for its stream anew, so that a tool runs that runs
// rarely.
func expired(then func(context.Context, *site, strike) error) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		s.tube.ExpireNow(s.monitors[k.monitor].video)
		return then(ctx, s, k)
	}
}

// postgres is the processes of the site's database server, the first one first;
// none runs just now, if there are none.
func (s *site) postgres() []process {
	pid := 0
	if s.database != nil {
		pid = s.database.pid()
	} else if text, err := os.ReadFile(filepath.Join(s.data(), "postgres", "postmaster.pid")); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		pid, _ = strconv.Atoi(first)
	}
	// A stale file may name anybody.
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || !bytes.Contains(line, []byte(s.dir+"/")) {
		return nil
	}
	return tree(running(nil), pid)
}

func killDatabase(_ context.Context, s *site, k strike) error {
	family := s.postgres()
	if len(family) == 0 {
		return errNobody
	}
	s.note("%s: process %d", k, family[0].pid)
	family[0].signal(killSignal)
	return nil
}

// killBackend kills one of the server's processes, after which it has all of
// them begin anew.
func killBackend(_ context.Context, s *site, k strike) error {
	family := s.postgres()
	if len(family) < 2 {
		return errNobody
	}
	p := family[1+k.amount%(len(family)-1)]
	s.note("%s: process %d", k, p.pid)
	p.signal(killSignal)
	return nil
}

func stopDatabase(ctx context.Context, s *site, k strike) error {
	family := s.postgres()
	if len(family) == 0 {
		return errNobody
	}
	s.note("%s: %d processes", k, len(family))
	for _, p := range family {
		p.signal(stopSignal)
	}
	pause(ctx, k.by)
	for _, p := range family {
		p.signal(goSignal)
	}
	return nil
}

func restartDatabase(_ context.Context, s *site, k strike) error {
	s.note("%s", k)
	s.database.end(syscall.SIGINT, false)
	return nil
}

func leaveDatabase(ctx context.Context, s *site, k strike) error {
	s.note("%s", k)
	s.database.end(syscall.SIGINT, true)
	pause(ctx, k.by)
	s.database.comeBack()
	return nil
}

func cut(w way, toxic string) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		s.note("%s", k)
		return s.pipes[w].poison(ctx, toxic, k.amount, k.by)
	}
}

// refusals is how many deliveries in a row a receiver spoils at most: the fourth
// would end the monitor (decision W4), and one more may be lost to another fault.
const refusals = 2

func misbehave(f httpfault.Fault) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		s.note("%s", k)
		behave := s.sink.Inject(refusals, f)
		pause(ctx, k.by)
		behave()
		return nil
	}
}

// takeAndHangUp takes a webhook and does not say so.
func takeAndHangUp(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(deaf{http.Header{}}, r)
	panic(http.ErrAbortHandler)
}

// deaf is where an answer goes that nobody gets.
type deaf struct{ header http.Header }

func (d deaf) Header() http.Header         { return d.header }
func (d deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d deaf) WriteHeader(int)             {}

func fillData(ctx context.Context, s *site, k strike) error { return s.fill(ctx, k, s.data()) }

func fillDatabase(ctx context.Context, s *site, k strike) error {
	return s.fill(ctx, k, s.path("postgres"))
}

// fill leaves no room on a disk for a while.
func (s *site) fill(ctx context.Context, k strike, at string) error {
	s.note("%s", k)
	ballast := filepath.Join(at, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		return fmt.Errorf("%w: %w", errNobody, err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	for until := time.Now().Add(k.by); time.Now().Before(until) && ctx.Err() == nil; {
		_, _ = f.Write(make([]byte, 4<<10)) // what is freed meanwhile
		pause(ctx, 100*time.Millisecond)
	}
	return errors.Join(f.Close(), os.Remove(ballast))
}

// hour is the step of a clock, forwards or back.
func hour(k strike) time.Duration {
	if k.amount%2 == 0 {
		return time.Hour
	}
	return -time.Hour
}

func stepGateway(ctx context.Context, s *site, k strike) error {
	s.note("%s: by %s", k, hour(k))
	if err := s.setClock(hour(k)); err != nil {
		return err
	}
	pause(ctx, k.by)
	return s.setClock(0)
}

// killOffTime has a worker's successor begin with the wrong time, and go on with
// it when the clock is right again.
func killOffTime(ctx context.Context, s *site, k strike) error {
	if err := s.setClock(hour(k)); err != nil {
		return err
	}
	defer func() { _ = s.setClock(0) }()
	p, err := target(ctx, s, k, workerRole)
	if err != nil {
		return err
	}
	s.note("%s: by %s, %s", k, hour(k), p)
	p.signal(killSignal)
	pause(ctx, k.by)
	return nil
}

func stepDatabase(ctx context.Context, s *site, k strike) error {
	s.note("%s: by %s", k, hour(k))
	if err := replace(s.path("postgres-clock"), fmt.Sprintf("%+ds\n", int(hour(k).Seconds()))); err != nil {
		return err
	}
	pause(ctx, k.by)
	return replace(s.path("postgres-clock"), "+0\n")
}

// stepped does something else while the database has the wrong time, so that
// what it then writes down is of that time.
func stepped(then func(context.Context, *site, strike) error) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		if err := replace(s.path("postgres-clock"), fmt.Sprintf("%+ds\n", int(hour(k).Seconds()))); err != nil {
			return err
		}
		s.note("PostgreSQL's clock is off by %s", hour(k))
		return errors.Join(then(ctx, s, k), replace(s.path("postgres-clock"), "+0\n"))
	}
}

// replace changes a file so that a reader sees all of it.
func replace(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
