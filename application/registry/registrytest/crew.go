package registrytest

import (
	"context"
	"slices"
	"sync"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerManager is a control.Crew that remembers what it was asked.
type WorkerManager struct {
	mu      sync.Mutex
	started []monitor.ID
	stopped []monitor.ID
	heard   []monitor.ID
}

// Start is control.Crew's.
func (c *WorkerManager) Start(m monitor.Monitor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = append(c.started, m.ID)
}

// Stop is control.Crew's.
func (c *WorkerManager) Stop(id monitor.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = append(c.stopped, id)
}

// RenewLease is control.Crew's.
func (c *WorkerManager) RenewLease(id monitor.ID, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, id)
}

// Reporters lists every Heard, in order.
func (c *WorkerManager) Reporters() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
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

// CallbackPolicy is a control.CallbackPolicy: nil allows everything.
type CallbackPolicy func(monitor.CallbackURL) error

// Check is control.CallbackPolicy's.
func (c CallbackPolicy) Check(_ context.Context, u monitor.CallbackURL) error {
	if c == nil {
		return nil
	}
	return c(u)
}

// SentWebhook is what a TestSender was given.
type SentWebhook struct {
	To      monitor.CallbackURL
	EventID string
	Type    event.Type
	Body    []byte
}

// TestSender is a control.Courier that sends nothing.
type TestSender struct {
	Answer registry.Attempt // what it says came of every letter

	mu      sync.Mutex
	letters []SentWebhook
}

// Deliver is control.Courier's.
func (c *TestSender) Deliver(_ context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) registry.Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.letters = append(c.letters, SentWebhook{to, eventID, t, slices.Clone(body)})
	return c.Answer
}

// Sent lists what was delivered, in order.
func (c *TestSender) Sent() []SentWebhook {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.letters)
}
