package registrytest

import (
	"context"
	"slices"
	"sync"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Crew is a control.Crew that remembers what it was asked.
type Crew struct {
	mu      sync.Mutex
	started []monitor.ID
	stopped []monitor.ID
	heard   []monitor.ID
}

// Start is control.Crew's.
func (c *Crew) Start(m monitor.Monitor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = append(c.started, m.ID)
}

// Stop is control.Crew's.
func (c *Crew) Stop(id monitor.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = append(c.stopped, id)
}

// RenewLease is control.Crew's.
func (c *Crew) RenewLease(id monitor.ID, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, id)
}

// HeardOf lists every Heard, in order.
func (c *Crew) HeardOf() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// Started lists every Start, in order.
func (c *Crew) Started() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.started)
}

// Stopped lists every Stop, in order.
func (c *Crew) Stopped() []monitor.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.stopped)
}

// Callbacks is a control.CallbackPolicy: nil allows everything.
type Callbacks func(monitor.CallbackURL) error

// Check is control.CallbackPolicy's.
func (c Callbacks) Check(_ context.Context, u monitor.CallbackURL) error {
	if c == nil {
		return nil
	}
	return c(u)
}

// Letter is what a Courier was given.
type Letter struct {
	To      monitor.CallbackURL
	EventID string
	Type    event.Type
	Body    []byte
}

// Courier is a control.Courier that sends nothing.
type Courier struct {
	Answer registry.Attempt // what it says came of every letter

	mu      sync.Mutex
	letters []Letter
}

// Deliver is control.Courier's.
func (c *Courier) Deliver(_ context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) registry.Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.letters = append(c.letters, Letter{to, eventID, t, slices.Clone(body)})
	return c.Answer
}

// Letters lists what was delivered, in order.
func (c *Courier) Letters() []Letter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.letters)
}
