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
	mu        sync.Mutex
	started   []monitor.ID
	stopped   []monitor.ID
	reporters []monitor.ID
}

// Start implements monitors.WorkerManager.
func (c *WorkerManager) Start(m monitor.Monitor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = append(c.started, m.ID)
}

// Stop implements monitors.WorkerManager.
func (c *WorkerManager) Stop(id monitor.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = append(c.stopped, id)
}

// RenewLease implements intake.LeaseRenewer.
func (c *WorkerManager) RenewLease(id monitor.ID, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reporters = append(c.reporters, id)
}

// Reporters lists the monitor of every RenewLease, in order.
func (c *WorkerManager) Reporters() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reporters)
}

// Started lists every Start, in order.
func (c *WorkerManager) Started() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.started)
}

// Stopped lists every Stop, in order.
func (c *WorkerManager) Stopped() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.stopped)
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
