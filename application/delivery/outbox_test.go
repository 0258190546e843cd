package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var errDatabase = errors.New("database is away")

// entry is a letter as the outbox on disk knows it.
type entry struct {
	letter   delivery.Delivery
	state    string // pending, sent, failed
	due      time.Time
	heldTill time.Time
	answers  []delivery.Attempt
}

// outbox is deliver.Outbox in memory, by the rules of its contract.
type outbox struct {
	mu       sync.Mutex
	entries  []*entry
	down     bool // every exchange fails
	recordIs bool // only Record fails
	leases   int  // calls of Lease

	slow time.Duration // between what Lease does and its answer
}

func (o *outbox) add(id string, m monitor.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = append(o.entries, &entry{
		letter: delivery.Delivery{
			EventID: id, EventType: event.Blackout, MonitorID: m,
			CallbackURL: "https://receiver.example/hook?token=geheim", Body: []byte("{}"),
		},
		state: "pending", due: time.Now(),
	})
}

func (o *outbox) set(change func(*outbox)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *outbox) find(id string) entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.entries, func(e *entry) bool { return e.letter.EventID == id })
	e := *o.entries[i]
	e.answers = slices.Clone(e.answers)
	return e
}

func (o *outbox) Lease(_ context.Context, limit int, lease time.Duration) ([]delivery.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leases++
	if o.down {
		return nil, errDatabase
	}
	now := time.Now()
	var out []delivery.Delivery
	behind := map[monitor.ID]bool{}
	for _, e := range o.entries {
		if e.state != "pending" || behind[e.letter.MonitorID] {
			continue
		}
		behind[e.letter.MonitorID] = true
		if e.heldTill.After(now) || e.due.After(now) || len(out) == limit {
			continue
		}
		e.heldTill = now.Add(lease)
		e.letter.Lease = fmt.Sprint(o.leases)
		out = append(out, e.letter)
	}
	if wait := o.slow; wait > 0 {
		o.mu.Unlock()
		time.Sleep(wait)
		o.mu.Lock()
	}
	return out, nil
}

func (o *outbox) RecordAttempt(_ context.Context, l delivery.Delivery, a delivery.Attempt, v delivery.Decision) (monitor.ID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down || o.recordIs {
		return "", errDatabase
	}
	for _, e := range o.entries {
		if e.letter.EventID != l.EventID {
			continue
		}
		if !v.Sent && l.Lease != e.letter.Lease {
			return "", nil
		}
		e.answers = append(e.answers, a)
		e.letter.Attempts++
		e.heldTill, e.due = time.Time{}, v.RetryAt
		switch {
		case v.Sent:
			e.state = "sent"
		case v.Failed:
			for _, other := range o.entries {
				if other.letter.MonitorID == l.MonitorID && other.state == "pending" {
					other.state = "failed"
				}
			}
			return l.MonitorID, nil
		}
	}
	return "", nil
}

// NextDue is deliberately naive: it also names letters that have to wait for
// another one of their monitor.
func (o *outbox) NextDue(context.Context) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return time.Time{}, errDatabase
	}
	var first time.Time
	for _, e := range o.entries {
		if e.state == "pending" && !e.heldTill.After(time.Now()) && (first.IsZero() || e.due.Before(first)) {
			first = e.due
		}
	}
	return first, nil
}

// attempt is one call of Send.
type attempt struct {
	id string
	at time.Duration // since the receiver was made
}

// receiver is deliver.Sender: answers as told, remembers every attempt.
type origin struct {
	began  time.Time
	answer func(ctx context.Context, l delivery.Delivery) delivery.Attempt

	mu       sync.Mutex
	attempts []attempt
	flying   map[monitor.ID]int
	overlap  bool // two letters of one monitor at once
}

func newReceiver(answer func(context.Context, delivery.Delivery) delivery.Attempt) *origin {
	return &origin{began: time.Now(), answer: answer, flying: map[monitor.ID]int{}}
}

func (r *origin) Send(ctx context.Context, l delivery.Delivery) delivery.Attempt {
	at := time.Now()
	r.mu.Lock()
	r.attempts = append(r.attempts, attempt{l.EventID, at.Sub(r.began)})
	r.flying[l.MonitorID]++
	r.overlap = r.overlap || r.flying[l.MonitorID] > 1
	r.mu.Unlock()

	a := r.answer(ctx, l)
	a.At = at

	r.mu.Lock()
	r.flying[l.MonitorID]--
	r.mu.Unlock()
	return a
}

func (r *origin) seen() []attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.attempts)
}

func (r *origin) times(id string) []time.Duration {
	var out []time.Duration
	for _, a := range r.seen() {
		if a.id == id {
			out = append(out, a.at)
		}
	}
	return out
}

func accepts(context.Context, delivery.Delivery) delivery.Attempt {
	return delivery.Attempt{Status: 200}
}

func refuses(context.Context, delivery.Delivery) delivery.Attempt {
	return delivery.Attempt{Status: 500, Error: "HTTP 500"}
}

// hangs answers nothing until the sender's own limit, as a real Sender would.
func hangs(ctx context.Context, _ delivery.Delivery) delivery.Attempt {
	select {
	case <-ctx.Done():
		return delivery.Attempt{Error: "cancelled"}
	case <-time.After(delivery.SendTimeout):
		return delivery.Attempt{Error: "no answer within 10s"}
	}
}
