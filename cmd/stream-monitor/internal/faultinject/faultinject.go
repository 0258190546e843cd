//go:build faults

package faultinject

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

// The variables that control this build.
const (
	// crashVariable makes the process kill itself with SIGKILL at POINT[:NTH[:DELAY]].
	// NTH counts how often it reaches the point (default 1). With DELAY it lives on for
	// that long.
	crashVariable = "CRASH_AT"

	// workersGatewayVariable replaces GATEWAY_URL for workers, so that a test can
	// put a proxy between worker and gateway.
	workersGatewayVariable = "FAULTS_GATEWAY_URL"

	// acceptedVariable names a file that gets the id of each event of an accepted
	// report, one a line. Inline workers send no requests that a proxy could record.
	acceptedVariable = "FAULTS_ACCEPTED"
)

// The points at which a gateway can be killed, in the order in which a monitor
// passes them.
const (
	pointIntent = "intent" // a launch is stored and not begun
	pointRecord = "record" // a worker is being launched
	pointLaunch = "launch" // a worker was launched and nobody knows yet
	pointStore  = "store"  // a report is stored and not answered
	pointAck    = "ack"    // a report is about to be answered
	pointSend   = "send"   // a webhook was answered and the answer is not stored
	pointMark   = "mark"   // the answer to a webhook is stored
)

// A worker reads GATEWAY_URL with its other settings, before main runs anything.
func init() { //nolint:gochecknoinits // see above
	if url := os.Getenv(workersGatewayVariable); url != "" && os.Getenv("GATEWAY_URL") != "" {
		_ = os.Setenv("GATEWAY_URL", url)
	}
}

// Wrap puts the crash that CRASH_AT asks for between the gateway and its ports,
// and the clock that CLOCK_OFFSET_FILE steps in the place of Now.
func Wrap(p Ports) Ports {
	c, err := parseCrash(os.Getenv(crashVariable))
	if err != nil {
		panic(err)
	}
	return Ports{
		SupervisorStore: crashingMonitors{p.SupervisorStore, c},
		Launcher:        crashingLauncher{p.Launcher, c},
		RegistryStore:   crashingStore{p.RegistryStore, c, os.Getenv(acceptedVariable)},
		Outbox:          crashingOutbox{p.Outbox, c},
		Sender:          crashingSender{p.Sender, c},
		Now:             steppedClock(p.Now),
	}
}

// crash kills the process at a point.
type crash struct {
	point string
	delay time.Duration
	left  atomic.Int64 // passes of the point until the crash
}

func parseCrash(text string) (*crash, error) {
	words := strings.Split(text, ":")
	c := &crash{point: words[0]}
	c.left.Store(1)
	if len(words) > 1 {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q; accepted is POINT[:NTH[:DELAY]]", crashVariable, text)
		}
		c.left.Store(int64(n))
	}
	if len(words) > 2 {
		delay, err := time.ParseDuration(words[2])
		if err != nil {
			return nil, fmt.Errorf("%s is %q; accepted is POINT[:NTH[:DELAY]]", crashVariable, text)
		}
		c.delay = delay
	}
	return c, nil
}

// pass is called at each point. It kills the process if the crash is due here.
// With a delay it returns, and the process is killed later.
func (c *crash) pass(point string) {
	if c.point != point || c.left.Add(-1) != 0 {
		return
	}
	if c.delay > 0 {
		time.AfterFunc(c.delay, killSelf)
		return
	}
	killSelf()
}

// killSelf ends the process as the kernel's out-of-memory killer would.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type crashingMonitors struct {
	supervisor.Store
	crash *crash
}

func (r crashingMonitors) Promote(ctx context.Context, taken supervisor.Reservation, place string) (monitor.Monitor, error) {
	m, err := r.Store.Promote(ctx, taken, place)
	if err == nil {
		r.crash.pass(pointIntent)
	}
	return m, err
}

func (r crashingMonitors) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, place string) (monitor.Monitor, error) {
	m, err := r.Store.AdvanceGeneration(ctx, id, generation, place)
	if err == nil {
		r.crash.pass(pointIntent)
	}
	return m, err
}

type crashingLauncher struct {
	supervisor.Launcher
	crash *crash
}

func (l crashingLauncher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	l.crash.pass(pointRecord)
	err := l.Launcher.Launch(ctx, j)
	if err == nil {
		l.crash.pass(pointLaunch)
	}
	return err
}

type crashingStore struct {
	registry.Store
	crash    *crash
	accepted string
}

func (s crashingStore) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	err := s.Store.Insert(ctx, m, limit)
	if err == nil {
		s.crash.pass(pointIntent)
	}
	return err
}

func (s crashingStore) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, once registry.IdempotencyKey) (*registry.IdempotencyRecord, error) {
	first, err := s.Store.InsertIdempotent(ctx, m, limit, once)
	if err == nil && first == nil {
		s.crash.pass(pointIntent)
	}
	return first, err
}

func (s crashingStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	order, err := s.Store.Accept(ctx, id, r)
	if err != nil {
		return order, err
	}
	s.crash.pass(pointStore)
	s.recordAccepted(r.Events)
	s.crash.pass(pointAck)
	return order, err
}

// recordAccepted appends the ids of events whose report is about to be answered.
func (s crashingStore) recordAccepted(events []event.Event) {
	if s.accepted == "" || len(events) == 0 {
		return
	}
	f, err := os.OpenFile(s.accepted, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
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

type crashingOutbox struct {
	delivery.Outbox
	crash *crash
}

func (o crashingOutbox) RecordAttempt(ctx context.Context, l delivery.Delivery, a delivery.Attempt, v delivery.Decision) (monitor.ID, error) {
	ended, err := o.Outbox.RecordAttempt(ctx, l, a, v)
	if err == nil {
		o.crash.pass(pointMark)
	}
	return ended, err
}

type crashingSender struct {
	delivery.Sender
	crash *crash
}

func (s crashingSender) Send(ctx context.Context, l delivery.Delivery) delivery.Attempt {
	a := s.Sender.Send(ctx, l)
	s.crash.pass(pointSend)
	return a
}
