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

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The variables that control this build.
const (
	// crashVariable makes the process kill itself with SIGKILL at POINT:NTH. NTH counts how
	// often the process reaches the point. Empty: nowhere.
	crashVariable = "CRASH_AT"

	// workersGatewayVariable replaces GATEWAY_URL for workers, so that a test can
	// put a proxy between worker and gateway.
	workersGatewayVariable = "FAULTS_GATEWAY_URL"

	// acceptedVariable names a file that gets the id of each event of an accepted
	// report, one a line.
	acceptedVariable = "FAULTS_ACCEPTED"
)

// The points at which a gateway can be killed, in the order in which a monitor
// passes them.
const (
	pointLaunchStored    = "intent" // after a launch is stored, before it begins
	pointLaunching       = "record" // just before a worker is launched
	pointLaunched        = "launch" // after a worker was launched, before the gateway records this
	pointReportStored    = "store"  // after a report is stored
	pointReportAnswer    = "ack"    // just before the gateway answers a stored report
	pointWebhookAnswered = "send"   // after the receiver answered, before the attempt is stored
	pointWebhookRecorded = "mark"   // after the attempt is stored
	pointMessageAnswered = "told"   // after a destination answered, before the attempt is stored
	pointMessageRecorded = "noted"  // after that attempt is stored
)

// A worker reads GATEWAY_URL with its other settings, before main runs anything.
func init() { //nolint:gochecknoinits // see above
	if url := os.Getenv(workersGatewayVariable); url != "" && os.Getenv("GATEWAY_URL") != "" {
		_ = os.Setenv("GATEWAY_URL", url)
	}
}

// Environ returns the variables of this package that workers read, NAME=value.
func Environ() (env []string) {
	for _, name := range []string{workersGatewayVariable, clockVariable} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Wrap returns ports that crash the process at the point that CRASH_AT names. Its Now
// returns the time with the offset in CLOCK_OFFSET_FILE.
func Wrap(p Ports) Ports {
	c := newCrash(os.Getenv(crashVariable))
	return Ports{
		SupervisorStore: crashingSupervisorStore{p.SupervisorStore, c},
		Launcher:        crashingLauncher{p.Launcher, c},
		MonitorStore:    crashingMonitorStore{p.MonitorStore, c, os.Getenv(acceptedVariable)},
		Outbox:          crashingOutbox{p.Outbox, c},
		Webhooks:        crashingWebhooks{p.Webhooks, c},
		Messages:        crashingMessages(p.Messages, c),
		Now:             steppedClock(p.Now),
	}
}

// crash kills the process at a point.
type crash struct {
	point string
	left  atomic.Int64 // passes of the point until the crash
}

func newCrash(text string) *crash {
	point, nth, _ := strings.Cut(text, ":")
	c := &crash{point: point}
	n, err := strconv.Atoi(nth)
	if err != nil && text != "" {
		panic(fmt.Sprintf("%s is %q; accepted is POINT:NTH", crashVariable, text))
	}
	c.left.Store(int64(n))
	return c
}

// pass is called at each point. It ends the process, as the kernel's out-of-memory killer would, if
// the crash is due here.
func (c *crash) pass(point string) {
	if c.point == point && c.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

type crashingSupervisorStore struct {
	supervisor.Store
	crash *crash
}

func (r crashingSupervisorStore) Promote(ctx context.Context, reservation supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	m, err := r.Store.Promote(ctx, reservation, runtimeID)
	if err == nil {
		r.crash.pass(pointLaunchStored)
	}
	return m, err
}

func (r crashingSupervisorStore) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	m, err := r.Store.AdvanceGeneration(ctx, id, generation, runtimeID)
	if err == nil {
		r.crash.pass(pointLaunchStored)
	}
	return m, err
}

type crashingLauncher struct {
	supervisor.Launcher
	crash *crash
}

func (l crashingLauncher) Launch(ctx context.Context, spec supervisor.WorkerSpec) error {
	l.crash.pass(pointLaunching)
	err := l.Launcher.Launch(ctx, spec)
	if err == nil {
		l.crash.pass(pointLaunched)
	}
	return err
}

type crashingMonitorStore struct {
	MonitorStore
	crash    *crash
	accepted string
}

func (s crashingMonitorStore) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	err := s.MonitorStore.Insert(ctx, m, limit)
	if err == nil {
		s.crash.pass(pointLaunchStored)
	}
	return err
}

func (s crashingMonitorStore) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key monitors.IdempotencyKey) (*monitors.IdempotencyRecord, error) {
	first, err := s.MonitorStore.InsertIdempotent(ctx, m, limit, key)
	if err == nil && first == nil {
		s.crash.pass(pointLaunchStored)
	}
	return first, err
}

func (s crashingMonitorStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	answer, err := s.MonitorStore.Accept(ctx, id, r)
	if err != nil {
		return answer, err
	}
	s.crash.pass(pointReportStored)
	s.recordAccepted(r.Events)
	s.crash.pass(pointReportAnswer)
	return answer, err
}

// recordAccepted appends the ids of events whose report is about to be answered.
func (s crashingMonitorStore) recordAccepted(events []event.Event) {
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

func (o crashingOutbox) Record(ctx context.Context, d delivery.Delivery, outcome delivery.Outcome) (delivery.Recorded, error) {
	recorded, err := o.Outbox.Record(ctx, d, outcome)
	switch {
	case err != nil:
	case d.Callback != "":
		o.crash.pass(pointWebhookRecorded)
	default:
		o.crash.pass(pointMessageRecorded)
	}
	return recorded, err
}

type crashingWebhooks struct {
	delivery.WebhookSender
	crash *crash
}

func (s crashingWebhooks) Send(ctx context.Context, to monitor.CallbackURL, e delivery.Event, keys []string) event.Attempt {
	a := s.WebhookSender.Send(ctx, to, e, keys)
	if keys == nil { // those of callbacks
		s.crash.pass(pointWebhookAnswered)
	} else {
		s.crash.pass(pointMessageAnswered)
	}
	return a
}

type crashingMessageSender struct {
	message.Sender
	crash *crash
}

func crashingMessages(senders map[notify.Kind]message.Sender, c *crash) map[notify.Kind]message.Sender {
	wrapped := make(map[notify.Kind]message.Sender, len(senders))
	for kind, s := range senders {
		wrapped[kind] = crashingMessageSender{s, c}
	}
	return wrapped
}

func (s crashingMessageSender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	r := s.Sender.Send(ctx, d, m)
	s.crash.pass(pointMessageAnswered)
	return r
}
