//go:build faults

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The variables that steer this build.
const (
	// crashVariable says where the process ends itself with SIGKILL: POINT, or
	// POINT:NTH for the nth time that it comes there (default 1), or
	// POINT:NTH:DELAY for a while after.
	crashVariable = "CRASH_AT"

	// workersGateway is where workers go instead of GATEWAY_URL, so that a test
	// can stand in between.
	workersGateway = "FAULTS_GATEWAY_URL"

	// booksVariable names a file that gets a line for each event whose worker has
	// been told that it is kept: its id. Workers that are goroutines make no
	// requests that could be listened to.
	booksVariable = "FAULTS_BOOKS"
)

// The points at which a gateway can die, in the order in which a monitor meets
// them.
const (
	pointIntent = "intent" // a launch is written down, and not begun
	pointRecord = "record" // a worker is being launched
	pointLaunch = "launch" // it is launched, and nobody knows yet
	pointStore  = "store"  // a report is on disk, and not answered
	pointAck    = "ack"    // it is answered
	pointSend   = "send"   // a webhook is answered, and that is not on disk
	pointMark   = "mark"   // that is on disk
)

// A worker of this build goes where it is told, which is nowhere else in the
// product; so it is done before anything of that runs.
func init() { //nolint:gochecknoinits // see above
	if at := os.Getenv(workersGateway); at != "" && os.Getenv("GATEWAY_URL") != "" {
		_ = os.Setenv("GATEWAY_URL", at)
	}
}

// parts is what the gateway is wired from where a fault can be put in between.
type parts struct {
	Roster   supervisor.Store
	Launcher supervisor.Launcher
	Store    registry.Store
	Outbox   delivery.Outbox
	Sender   delivery.Sender
	Now      func() time.Time
}

// tamper puts the end that CRASH_AT asks for in between, and the clock that
// CLOCK_OFFSET_FILE steps.
func tamper(p parts) parts {
	d, err := readDeath(os.Getenv(crashVariable))
	if err != nil {
		panic(err)
	}
	return parts{
		Roster:   mortalRoster{p.Roster, d},
		Launcher: mortalLauncher{p.Launcher, d},
		Store:    mortalStore{p.Store, d, os.Getenv(booksVariable)},
		Outbox:   mortalOutbox{p.Outbox, d},
		Sender:   mortalSender{p.Sender, d},
		Now:      steppedClock(p.Now),
	}
}

// death is the end of the process at a point.
type death struct {
	point string
	delay time.Duration
	left  atomic.Int64 // how often the point is still passed alive, plus one
}

func readDeath(text string) (*death, error) {
	words := strings.Split(text, ":")
	d := &death{point: words[0]}
	d.left.Store(1)
	if len(words) > 1 {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q; accepted is POINT[:NTH[:DELAY]]", crashVariable, text)
		}
		d.left.Store(int64(n))
	}
	if len(words) > 2 {
		delay, err := time.ParseDuration(words[2])
		if err != nil {
			return nil, fmt.Errorf("%s is %q; accepted is POINT[:NTH[:DELAY]]", crashVariable, text)
		}
		d.delay = delay
	}
	return d, nil
}

// at is called at a point: it is the last thing that is called if it is the
// right one. With a delay the caller goes on meanwhile.
func (d *death) at(point string) {
	if d.point != point || d.left.Add(-1) != 0 {
		return
	}
	if d.delay > 0 {
		time.AfterFunc(d.delay, die)
		return
	}
	die()
}

// die ends the process as the kernel does when memory is short: nothing of it
// runs on.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type mortalRoster struct {
	supervisor.Store
	death *death
}

func (r mortalRoster) Promote(ctx context.Context, taken supervisor.Reservation, place string) (monitor.Monitor, error) {
	m, err := r.Store.Promote(ctx, taken, place)
	if err == nil {
		r.death.at(pointIntent)
	}
	return m, err
}

func (r mortalRoster) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, place string) (monitor.Monitor, error) {
	m, err := r.Store.AdvanceGeneration(ctx, id, generation, place)
	if err == nil {
		r.death.at(pointIntent)
	}
	return m, err
}

type mortalLauncher struct {
	supervisor.Launcher
	death *death
}

func (l mortalLauncher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	l.death.at(pointRecord)
	err := l.Launcher.Launch(ctx, j)
	if err == nil {
		l.death.at(pointLaunch)
	}
	return err
}

type mortalStore struct {
	registry.Store
	death *death
	books string
}

func (s mortalStore) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	err := s.Store.Insert(ctx, m, limit)
	if err == nil {
		s.death.at(pointIntent)
	}
	return err
}

func (s mortalStore) InsertOnce(ctx context.Context, m monitor.Monitor, limit int, once registry.Once) (*registry.First, error) {
	first, err := s.Store.InsertOnce(ctx, m, limit, once)
	if err == nil && first == nil {
		s.death.at(pointIntent)
	}
	return first, err
}

func (s mortalStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	order, err := s.Store.Accept(ctx, id, r)
	if err != nil {
		return order, err
	}
	s.death.at(pointStore)
	s.write(r.Events)
	s.death.at(pointAck)
	return order, err
}

// write notes events that are about to be called kept.
func (s mortalStore) write(events []event.Event) {
	if s.books == "" || len(events) == 0 {
		return
	}
	f, err := os.OpenFile(s.books, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for _, e := range events {
		if _, err := fmt.Fprintln(f, e.ID); err != nil {
			panic(err)
		}
	}
}

type mortalOutbox struct {
	delivery.Outbox
	death *death
}

func (o mortalOutbox) RecordAttempt(ctx context.Context, l delivery.Delivery, a delivery.Attempt, v delivery.Decision) (monitor.ID, error) {
	ended, err := o.Outbox.RecordAttempt(ctx, l, a, v)
	if err == nil {
		o.death.at(pointMark)
	}
	return ended, err
}

type mortalSender struct {
	delivery.Sender
	death *death
}

func (s mortalSender) Send(ctx context.Context, l delivery.Delivery) delivery.Attempt {
	a := s.Sender.Send(ctx, l)
	s.death.at(pointSend)
	return a
}
