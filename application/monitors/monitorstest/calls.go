package monitorstest

import (
	"context"
	"slices"
	"sync"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerManager is a monitors.WorkerManager and an intake.LeaseRenewer that records its calls.
type WorkerManager struct {
	mu    sync.Mutex
	calls map[string][]monitor.ID
}

// Start implements monitors.WorkerManager.
func (c *WorkerManager) Start(m monitor.Monitor) { c.record("start", m.ID) }

// Stop implements monitors.WorkerManager.
func (c *WorkerManager) Stop(id monitor.ID) { c.record("stop", id) }

// RenewLease implements intake.LeaseRenewer.
func (c *WorkerManager) RenewLease(id monitor.ID, _ int) { c.record("renew", id) }

func (c *WorkerManager) record(call string, id monitor.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string][]monitor.ID{}
	}
	c.calls[call] = append(c.calls[call], id)
}

// Started lists the monitor of every Start, in order.
func (c *WorkerManager) Started() []monitor.ID { return c.recorded("start") }

// Stopped lists the monitor of every Stop, in order.
func (c *WorkerManager) Stopped() []monitor.ID { return c.recorded("stop") }

// Reporters lists the monitor of every RenewLease, in order.
func (c *WorkerManager) Reporters() []monitor.ID { return c.recorded("renew") }

func (c *WorkerManager) recorded(call string) []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls[call])
}

// CallbackPolicy is a monitors.CallbackPolicy; nil allows everything.
type CallbackPolicy func(monitor.CallbackURL) error

// Check implements monitors.CallbackPolicy.
func (c CallbackPolicy) Check(_ context.Context, u monitor.CallbackURL) error {
	if c == nil {
		return nil
	}
	return c(u)
}

// SentWebhook is one call of a TestSender.
type SentWebhook struct {
	To      monitor.CallbackURL
	EventID string
	Type    event.Type
	Body    []byte
}

// TestSender is a monitors.TestSender that sends nothing and records its calls.
type TestSender struct {
	Answer event.Attempt // returned for every webhook

	mu   sync.Mutex
	sent []SentWebhook
}

// Deliver implements monitors.TestSender.
func (c *TestSender) Deliver(_ context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) event.Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, SentWebhook{to, eventID, t, slices.Clone(body)})
	return c.Answer
}

// Sent lists every call, in order.
func (c *TestSender) Sent() []SentWebhook {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}
