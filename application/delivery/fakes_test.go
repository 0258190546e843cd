package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

var errDatabase = errors.New("the database does not answer")

// entry is a delivery in a fakeOutbox.
type entry struct {
	delivery    delivery.Delivery
	policy      notify.ThreadPolicy // of a thread
	state       string              // pending, delivered, failed, idle
	due         time.Time
	leasedUntil time.Time
	outcomes    []delivery.Outcome
}

// queue names the queue of an event; "": it waits for no other.
func (e *entry) queue() string {
	switch d := e.delivery; {
	case d.Event == nil:
		return ""
	case d.Callback != "":
		return string(d.Event.MonitorID)
	default:
		return string(d.Event.MonitorID) + " at " + d.Destination.ID
	}
}

// fakeOutbox is a delivery.Outbox in memory that keeps the port's contract, but for circuits, rate limits
// and events that leave their queue.
type fakeOutbox struct {
	mu          sync.Mutex
	entries     []*entry
	down        bool          // every call fails
	recordFails bool          // only Record fails
	recordDelay time.Duration // between the transaction and the return of Record
	leases      int           // calls of Lease
	leaseDelay  time.Duration // between the lease and the return of Lease
	disabled    string        // what Record returns where the outcome disables a destination
	ahead       time.Duration // of the database's clock
}

func (o *fakeOutbox) set(change func(*fakeOutbox)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *fakeOutbox) add(d delivery.Delivery, policy ...notify.ThreadPolicy) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(d, policy...)
}

func (o *fakeOutbox) addLocked(d delivery.Delivery, policy ...notify.ThreadPolicy) {
	d.RoundBeganAt = time.Now()
	if channel, is := notify.ChannelOf(d.Destination.Kind); is {
		d.Policy = channel.Policy()
	}
	e := &entry{delivery: d, state: "pending", due: time.Now()}
	if len(policy) > 0 {
		e.policy = policy[0]
	}
	o.entries = append(o.entries, e)
}

// change changes an incident, and makes its thread due.
func (o *fakeOutbox) change(id string, change func(*incident.Incident)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.entries {
		if e.delivery.ID == id {
			about := *e.delivery.Incident
			change(&about.Incident)
			e.delivery.Incident, e.state, e.due = &about, "pending", time.Now()
		}
	}
}

func (o *fakeOutbox) find(id string) entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := *o.entries[slices.IndexFunc(o.entries, func(e *entry) bool { return e.delivery.ID == id })]
	found.outcomes = slices.Clone(found.outcomes)
	return found
}

func (o *fakeOutbox) Lease(_ context.Context, limit int, duration time.Duration) (all delivery.Leased, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leases++
	if o.down {
		return delivery.Leased{}, errDatabase
	}
	now, behind, inFlight := time.Now(), map[string]bool{"": false}, map[string]int{}
	for _, e := range o.entries {
		if e.leasedUntil.After(now) {
			inFlight[e.delivery.Destination.ID]++
		}
	}
	for _, e := range o.entries {
		queue, to := e.queue(), e.delivery.Destination.ID
		if e.state != "pending" || behind[queue] {
			continue
		}
		behind[queue] = queue != ""
		if due := instant.Latest(e.due, e.leasedUntil); due.After(now) {
			if all.NextAt.IsZero() || due.Before(all.NextAt) {
				all.NextAt = due
			}
			continue
		}
		if to != "" && inFlight[to] == notify.MaxPerDestination {
			all.Waits = true
			continue
		}
		if len(all.Deliveries) == limit || !o.decide(e, now) {
			continue
		}
		inFlight[to]++
		e.leasedUntil, e.delivery.LeaseID = now.Add(duration), fmt.Sprint(o.leases)
		e.delivery.Age, e.delivery.Now = now.Sub(e.delivery.RoundBeganAt), now.Add(o.ahead)
		all.Deliveries = append(all.Deliveries, e.delivery)
	}
	all.More = len(all.Deliveries) == limit
	if delay := o.leaseDelay; delay > 0 {
		o.mu.Unlock()
		time.Sleep(delay)
		o.mu.Lock()
	}
	return all, nil
}

// decide decides about the next message of a thread that is due, and reports whether there is one.
func (o *fakeOutbox) decide(e *entry, now time.Time) (isDue bool) {
	switch d := &e.delivery; {
	case d.Incident != nil:
		d.Message.Situation = notify.SituationOf(d.Incident.Incident)
	case d.Storm == nil:
		return true
	}
	m := &e.delivery.Message
	m.Policy, m.NextMessage = e.policy, notify.Next(now.Add(o.ahead), m.Situation, e.delivery.Notified, e.policy)
	if m.Kind != "" {
		return true
	}
	if e.state = "idle"; !m.At.IsZero() {
		e.state, e.due = "pending", m.At.Add(-o.ahead)
		e.delivery.RoundBeganAt = e.due
	}
	return false
}

func (o *fakeOutbox) Record(_ context.Context, d delivery.Delivery, out delivery.Outcome) (recorded delivery.Recorded, err error) {
	defer func() { time.Sleep(o.recordDelay) }()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down || o.recordFails {
		return recorded, errDatabase
	}
	now := time.Now()
	for n, e := range o.entries {
		if e.delivery.ID != d.ID || e.delivery.LeaseID != d.LeaseID && !out.Delivered {
			continue
		}
		e.outcomes, e.leasedUntil, e.due = append(e.outcomes, out), time.Time{}, out.RetryAt
		e.delivery.Tried++
		if out.Notified != nil {
			e.delivery.Notified = *out.Notified
		}
		switch {
		case out.Delivered && e.queue() == "" && d.Notice == nil: // the next lease decides what is next in the thread
			e.delivery.Tried, e.delivery.RoundBeganAt, e.due = 0, now, now
		case out.Delivered:
			e.state = "delivered"
		case out.Failed:
			e.state = "failed"
		case e.delivery.FailingSince.IsZero():
			e.delivery.FailingSince = now.Add(o.ahead)
		}
		recorded.Due = e.state == "pending" || e.queue() != "" && slices.ContainsFunc(o.entries[n+1:], func(next *entry) bool {
			return next.queue() == e.queue() && next.state == "pending"
		})
		if out.DisableDestination {
			recorded.Disabled = o.disabled
		}
		if out.EndMonitor {
			recorded.EndedMonitor = d.Event.MonitorID
			for _, other := range o.entries {
				if other.queue() == e.queue() && other.state == "pending" {
					other.state = "failed"
				}
			}
		}
	}
	return recorded, nil
}

// sending is one call of a fakeReceiver.
type sending struct {
	to      string // the ID of the destination, or of the event
	at      time.Duration
	message message.Message
	url     monitor.CallbackURL // of an event
	event   delivery.Event
	keys    []string
}

// fakeReceiver is a message.Sender and a delivery.WebhookSender that remembers every call.
type fakeReceiver struct {
	began  time.Time
	answer func(ctx context.Context, s sending, tried int) message.Result

	mu       sync.Mutex
	sendings []sending
}

func newReceiver(answer func(context.Context, sending, int) message.Result) *fakeReceiver {
	return &fakeReceiver{began: time.Now(), answer: answer}
}

func (r *fakeReceiver) begin(s sending) (tried int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sendings = append(r.sendings, s)
	for _, other := range r.sendings {
		if other.to == s.to {
			tried++
		}
	}
	return tried
}

func (r *fakeReceiver) call(ctx context.Context, s sending) message.Result {
	at := time.Now()
	s.at = at.Sub(r.began)
	result := r.answer(ctx, s, r.begin(s))
	result.At = at
	return result
}

// sent returns what was sent to a destination, or of an event.
func (r *fakeReceiver) sent(to string) (all []sending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sendings {
		if s.to == to {
			all = append(all, s)
		}
	}
	return all
}

// times returns when something was sent.
func (r *fakeReceiver) times(to string) (all []time.Duration) {
	for _, s := range r.sent(to) {
		all = append(all, s.at)
	}
	return all
}

// messages is the message.Sender of a fakeReceiver.
type messages struct{ *fakeReceiver }

func (m messages) Send(ctx context.Context, d notify.Destination, msg message.Message) message.Result {
	r := m.call(ctx, sending{to: d.ID, message: msg})
	r.Exchange = &event.Exchange{URL: "https://channel.example/…"}
	return r
}

func (r *fakeReceiver) Send(ctx context.Context, to monitor.CallbackURL, e delivery.Event, keys []string) event.Attempt {
	a := r.call(ctx, sending{to: e.EventID, url: to, event: e, keys: keys})
	return event.Attempt{At: a.At, Status: a.Status, Error: a.Error, RetryAfter: a.RetryAfter}
}

func accepts(context.Context, sending, int) message.Result {
	return message.Result{Attempt: event.Attempt{Status: 200}, Ref: "ref"}
}

func refuses(context.Context, sending, int) message.Result {
	return message.Result{Attempt: event.Attempt{Status: 500, Error: "HTTP 500"}, Class: notify.Retry}
}

// hangs returns after SendTimeout, as a real sender does when no answer comes.
func hangs(ctx context.Context, _ sending, _ int) message.Result {
	select {
	case <-ctx.Done():
		return message.Result{Attempt: event.Attempt{Error: "cancelled"}, Class: notify.Retry}
	case <-time.After(delivery.SendTimeout):
		return message.Result{Attempt: event.Attempt{Error: "no answer within 10s"}, Class: notify.Retry}
	}
}

// failing answers with a status so often before it accepts.
func failing(times, status int, class notify.FailureClass) func(context.Context, sending, int) message.Result {
	return func(ctx context.Context, s sending, tried int) message.Result {
		if tried > times {
			return accepts(ctx, s, tried)
		}
		return message.Result{Attempt: event.Attempt{Status: status, Error: fmt.Sprintf("HTTP %d", status)}, Class: class}
	}
}

// evidenceFunc is a delivery.EvidenceFinder.
type evidenceFunc func(ctx context.Context) (*event.Evidence, error)

func (f evidenceFunc) FindEvidence(ctx context.Context, _ monitor.ID, _ string, _ event.Type) (*event.Evidence, error) {
	return f(ctx)
}

// pictures is a delivery.PictureReader.
type pictures struct {
	err   error
	reads int
}

func (p *pictures) ReadPicture(context.Context, incident.Picture) (*message.Picture, error) {
	p.reads++
	if p.err != nil {
		return nil, p.err
	}
	return &message.Picture{URL: "https://monitor.example/p", MediaType: "image/jpeg", Bytes: []byte("jpeg")}, nil
}

var errPicture = errors.New("no picture")
