package callback_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var errDatabase = errors.New("the database does not answer")

// entry is an event in a fakeOutbox.
type entry struct {
	delivery    callback.Delivery
	state       string // pending, sent, failed
	due         time.Time
	leasedUntil time.Time
	attempts    []delivery.Attempt
	late        bool // on the long schedule
}

// fakeOutbox is a callback.Outbox in memory that keeps the port's contract.
type fakeOutbox struct {
	mu          sync.Mutex
	entries     []*entry
	down        bool          // every call fails
	recordFails bool          // only RecordAttempt fails
	leases      int           // calls of Lease
	leaseDelay  time.Duration // between the lease and the return of Lease
}

func (o *fakeOutbox) add(id string, m monitor.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = append(o.entries, &entry{
		delivery: callback.Delivery{
			EventID: id, EventType: event.Blackout, MonitorID: m,
			CallbackURL: "https://receiver.example/hook?token=geheim", Body: []byte("{}"),
		},
		state: "pending", due: time.Now(),
	})
}

func (o *fakeOutbox) set(change func(*fakeOutbox)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *fakeOutbox) find(id string) entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.entries, func(e *entry) bool { return e.delivery.EventID == id })
	e := *o.entries[i]
	e.attempts = slices.Clone(e.attempts)
	return e
}

func (o *fakeOutbox) Lease(_ context.Context, limit int, duration time.Duration) ([]callback.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leases++
	if o.down {
		return nil, errDatabase
	}
	now := time.Now()
	var leased []callback.Delivery
	behind := map[monitor.ID]bool{}
	for _, e := range o.entries {
		if e.state != "pending" || behind[e.delivery.MonitorID] && !e.late {
			continue
		}
		behind[e.delivery.MonitorID] = behind[e.delivery.MonitorID] || !e.late
		if e.leasedUntil.After(now) || e.due.After(now) || len(leased) == limit {
			continue
		}
		e.leasedUntil = now.Add(duration)
		e.delivery.LeaseID = fmt.Sprint(o.leases)
		leased = append(leased, e.delivery)
	}
	if delay := o.leaseDelay; delay > 0 {
		o.mu.Unlock()
		time.Sleep(delay)
		o.mu.Lock()
	}
	return leased, nil
}

func (o *fakeOutbox) RecordAttempt(_ context.Context, d callback.Delivery, a delivery.Attempt, decision callback.Decision) (monitor.ID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down || o.recordFails {
		return "", errDatabase
	}
	for _, e := range o.entries {
		if e.delivery.EventID != d.EventID {
			continue
		}
		if !decision.Delivered && d.LeaseID != e.delivery.LeaseID {
			return "", nil
		}
		e.attempts = append(e.attempts, a)
		e.delivery.Attempts++
		e.leasedUntil, e.due = time.Time{}, decision.RetryAt
		switch {
		case decision.Delivered:
			e.state = "sent"
		case decision.LongSchedule:
			e.late = true
		case decision.Failed && decision.MonitorGoesOn:
			e.state = "failed"
		case decision.Failed:
			for _, other := range o.entries {
				if other.delivery.MonitorID == d.MonitorID && other.state == "pending" {
					other.state = "failed"
				}
			}
			return d.MonitorID, nil
		}
	}
	return "", nil
}

// NextDue also returns the due times of deliveries behind another one of their
// monitor, which a dispatcher must tolerate.
func (o *fakeOutbox) NextDue(context.Context) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return time.Time{}, errDatabase
	}
	var first time.Time
	for _, e := range o.entries {
		if e.state == "pending" && !e.leasedUntil.After(time.Now()) && (first.IsZero() || e.due.Before(first)) {
			first = e.due
		}
	}
	return first, nil
}

// sending is one call of Send.
type sending struct {
	eventID string
	at      time.Duration // since the sender was made
}

// fakeSender is a callback.Sender that remembers every call.
type fakeSender struct {
	began time.Time
	send  func(ctx context.Context, d callback.Delivery) delivery.Attempt

	mu       sync.Mutex
	sendings []sending
	inFlight map[monitor.ID]int
	overlap  bool // two deliveries of one monitor were in flight at once
}

func newSender(send func(context.Context, callback.Delivery) delivery.Attempt) *fakeSender {
	return &fakeSender{began: time.Now(), send: send, inFlight: map[monitor.ID]int{}}
}

func (s *fakeSender) Send(ctx context.Context, d callback.Delivery) delivery.Attempt {
	at := time.Now()
	s.mu.Lock()
	s.sendings = append(s.sendings, sending{d.EventID, at.Sub(s.began)})
	s.inFlight[d.MonitorID]++
	s.overlap = s.overlap || s.inFlight[d.MonitorID] > 1
	s.mu.Unlock()

	a := s.send(ctx, d)
	a.At = at

	s.mu.Lock()
	s.inFlight[d.MonitorID]--
	s.mu.Unlock()
	return a
}

// sent returns every call of Send, in order.
func (s *fakeSender) sent() []sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sendings)
}

// times returns when an event was sent.
func (s *fakeSender) times(eventID string) []time.Duration {
	var times []time.Duration
	for _, one := range s.sent() {
		if one.eventID == eventID {
			times = append(times, one.at)
		}
	}
	return times
}

func accepts(context.Context, callback.Delivery) delivery.Attempt {
	return delivery.Attempt{Status: 200}
}

func refuses(context.Context, callback.Delivery) delivery.Attempt {
	return delivery.Attempt{Status: 500, Error: "HTTP 500"}
}

// hangs returns after SendTimeout, as a real Sender does when no answer comes.
func hangs(ctx context.Context, _ callback.Delivery) delivery.Attempt {
	select {
	case <-ctx.Done():
		return delivery.Attempt{Error: "cancelled"}
	case <-time.After(delivery.SendTimeout):
		return delivery.Attempt{Error: "no answer within 10s"}
	}
}
