package destination_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	secretURL = "https://receiver.example/hook?token=geheim"
	secretKey = "geheim-0123456789"
)

var errDatabase = errors.New("the database does not answer")

// evidenceFunc is a delivery.EvidenceFinder.
type evidenceFunc func(ctx context.Context) (*event.Evidence, error)

func (f evidenceFunc) FindEvidence(ctx context.Context, _ monitor.ID, _ string, _ event.Type) (*event.Evidence, error) {
	return f(ctx)
}

// scenario runs a test in virtual time.
func scenario(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func seconds(values ...float64) []time.Duration {
	var durations []time.Duration
	for _, v := range values {
		durations = append(durations, time.Duration(v*float64(time.Second)))
	}
	return durations
}

// thread is a delivery in a fakeOutbox.
type thread struct {
	delivery    destination.Delivery
	state       string // pending, delivered, failed, idle
	due         time.Time
	leasedUntil time.Time
	changed     bool // since the lease
	outcomes    []destination.Outcome
}

// fakeOutbox is a destination.Outbox in memory that keeps the port's
// contract, but for circuits, rate limits and the order of events.
type fakeOutbox struct {
	mu          sync.Mutex
	threads     []*thread
	recordFails bool
	recordDelay time.Duration // between the transaction and the return of RecordAttempt
	disabled    string        // what RecordAttempt returns for Disable
	leases      int
	ahead       time.Duration // of the database's clock
}

func (o *fakeOutbox) add(d destination.Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d.FirstDueAt = time.Now()
	o.threads = append(o.threads, &thread{delivery: d, state: "pending", due: time.Now()})
}

func (o *fakeOutbox) set(change func(*fakeOutbox)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

// copied returns the delivery with an incident of its own.
func (r *thread) copied() destination.Delivery {
	d := r.delivery
	if d.Incident != nil {
		about := *d.Incident
		d.Incident = &about
	}
	return d
}

// change changes an incident, and makes its thread due.
func (o *fakeOutbox) change(id string, change func(*destination.Incident)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.threads {
		if r.delivery.ID == id {
			change(r.delivery.Incident)
			r.changed = true
		}
	}
}

func (o *fakeOutbox) find(id string) thread {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := *o.threads[slices.IndexFunc(o.threads, func(r *thread) bool { return r.delivery.ID == id })]
	found.outcomes = slices.Clone(found.outcomes)
	return found
}

func (o *fakeOutbox) Lease(_ context.Context, limit int, duration time.Duration) (leased []destination.Delivery, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leases++
	now, inFlight := time.Now(), map[string]int{}
	for _, r := range o.threads {
		if r.leasedUntil.After(now) {
			inFlight[r.delivery.Destination.ID]++
		}
	}
	for _, r := range o.threads {
		to := r.delivery.Destination.ID
		if r.state != "pending" || r.due.After(now) || r.leasedUntil.After(now) || inFlight[to] == destination.MaxPerDestination || len(leased) == limit {
			continue
		}
		inFlight[to]++
		r.leasedUntil, r.delivery.LeaseID = now.Add(duration), fmt.Sprint(o.leases)
		r.delivery.Age, r.delivery.Now = now.Sub(r.delivery.FirstDueAt), now.Add(o.ahead)
		r.changed = false
		leased = append(leased, r.copied())
	}
	return leased, nil
}

func (o *fakeOutbox) RecordAttempt(_ context.Context, d destination.Delivery, out destination.Outcome) (string, error) {
	defer func() { time.Sleep(o.recordDelay) }()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recordFails {
		return "", errDatabase
	}
	for _, r := range o.threads {
		if r.delivery.ID != d.ID || r.delivery.LeaseID != d.LeaseID && !out.Delivered {
			continue
		}
		r.outcomes, r.leasedUntil, r.due = append(r.outcomes, out), time.Time{}, out.DueAt
		retried := out.Attempt != nil && !out.Delivered && !out.Failed
		switch {
		case retried:
			r.delivery.Attempts++
		case out.Failed:
			r.state = "failed"
		case out.Delivered && out.DueAt.IsZero():
			r.state = "delivered"
		case out.DueAt.IsZero():
			r.state = "idle"
		}
		if r.changed && !retried {
			r.state, out.DueAt = "pending", time.Now()
			r.due = out.DueAt
		}
		if !retried {
			r.delivery.Attempts, r.delivery.FirstDueAt = 0, out.DueAt
		}
		if out.Notified != nil && r.delivery.Incident != nil {
			r.delivery.Incident.Notified = *out.Notified
		}
		if out.DisableDestination {
			return o.disabled, nil
		}
	}
	return "", nil
}

func (o *fakeOutbox) NextDue(context.Context) (next time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.threads {
		if r.state == "pending" && !r.leasedUntil.After(time.Now()) && (next.IsZero() || r.due.Before(next)) {
			next = r.due
		}
	}
	return next, nil
}

// sentMessage is one call of a fakeChannel.
type sentMessage struct {
	to      string // ID of the destination
	at      time.Duration
	message message.Message
	url     monitor.CallbackURL // of a webhook
	event   destination.Event
	keys    []string
}

// fakeChannel is a message.Sender and a destination.WebhookSender that remembers every call.
type fakeChannel struct {
	began  time.Time
	answer func(ctx context.Context, to string, tried int) message.Result

	mu    sync.Mutex
	calls []sentMessage
}

func newChannel(answer func(ctx context.Context, to string, tried int) message.Result) *fakeChannel {
	return &fakeChannel{began: time.Now(), answer: answer}
}

func (c *fakeChannel) add(s sentMessage) (tried int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.at = time.Since(c.began)
	c.calls = append(c.calls, s)
	for _, other := range c.calls {
		if other.to == s.to {
			tried++
		}
	}
	return tried
}

func (c *fakeChannel) sent(to string) (all []sentMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.calls {
		if s.to == to {
			all = append(all, s)
		}
	}
	return all
}

func (c *fakeChannel) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	at := time.Now()
	r := c.answer(ctx, d.ID, c.add(sentMessage{to: d.ID, message: m}))
	r.At, r.Exchange = at, &event.Exchange{URL: "https://channel.example/…"}
	return r
}

func (c *fakeChannel) SendSigned(ctx context.Context, to monitor.CallbackURL, e destination.Event, keys []string) delivery.Attempt {
	at := time.Now()
	r := c.answer(ctx, e.EventID, c.add(sentMessage{to: e.EventID, url: to, event: e, keys: keys}))
	return delivery.Attempt{At: at, Status: r.Status, Error: r.Error, RetryAfter: r.RetryAfter}
}

func takes(context.Context, string, int) message.Result {
	return message.Result{Status: 200, Ref: "ref"}
}

func waits(ctx context.Context, _ string, _ int) message.Result {
	<-ctx.Done()
	return message.Result{Error: "no answer within 10s", Class: notify.Retry}
}

// failing answers with a status so often before it takes the message.
func failing(times, status int, class notify.FailureClass) func(context.Context, string, int) message.Result {
	return func(ctx context.Context, to string, tried int) message.Result {
		if tried > times {
			return takes(ctx, to, tried)
		}
		return message.Result{Status: status, Error: fmt.Sprintf("HTTP %d", status), Class: class}
	}
}

// newDestination returns a destination of a kind, with secrets.
func newDestination(id string, kind notify.Kind) notify.Destination {
	return notify.Destination{
		ID: id, Name: "name of " + id, Kind: kind, Language: notify.English, Enabled: true,
		Secrets: map[string]string{"url": secretURL, "webhook_url": secretURL, "signing_key": secretKey},
	}
}

// aboutIncident returns the thread of an incident that was opened a minute ago.
func aboutIncident(id string, to notify.Destination, change ...func(*destination.Incident)) destination.Delivery {
	opened := time.Now().Add(-time.Minute)
	i := incident.Incident{
		ID: "incident of " + id, State: incident.Open, Severity: 1, SeverityNow: 1, StartedAt: opened, OpenedAt: opened,
		Conditions: []incident.Condition{{Name: "black", StartedAt: opened, LastStartedAt: opened, Count: 1, Spans: []incident.Span{{StartedAt: opened}}}},
	}
	about := &destination.Incident{Good: []string{"audio"},
		ThreadFacts: destination.ThreadFacts{Situation: notify.SituationOf(i)},
		Incident:    i, MonitorID: "mon-a", StreamURL: "https://www.youtube.com/watch?v=XXXXXXXXXXX", Metadata: []byte(`{"channel_name":"C"}`),
	}
	for _, c := range change {
		c(about)
	}
	return destination.Delivery{ID: id, Destination: to, Incident: about}
}

// ended makes an incident one that a destination was notified of, and that has ended.
func ended(i *destination.Incident) {
	i.Notified = i.Notified.After(i.Situation, notify.NextMessage{Kind: notify.Opened, Push: true}, time.Now(), "")
	i.Situation.Open, i.Situation.ResolvedAt, i.Situation.Conditions = false, time.Now(), nil
	i.Incident.State, i.Incident.ResolvedAt, i.Incident.SeverityNow = incident.Resolved, time.Now(), 0
	c := &i.Incident.Conditions[0]
	c.EndedAt, c.Spans[0].EndedAt = time.Now(), time.Now()
}

// aboutEvent returns an event for a webhook.
func aboutEvent(id string, to notify.Destination) destination.Delivery {
	return destination.Delivery{ID: id, Destination: to, Event: &destination.Event{
		EventID: id, EventType: event.BlackoutRecovered, MonitorID: "mon-a", Body: []byte(`{"event_id":"` + id + `"}`), Sequence: 7,
	}}
}

// harness runs one dispatcher in a synctest bubble.
type harness struct {
	t       *testing.T
	outbox  *fakeOutbox
	channel *fakeChannel
	stop    func() // ends Run and waits for it
	log     bytes.Buffer
}

func start(t *testing.T, o *fakeOutbox, c *fakeChannel, change func(*destination.SenderConfig, *destination.Config)) *harness {
	t.Helper()
	h := &harness{t: t, outbox: o, channel: c}
	renderer, err := message.Load(message.Config{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	channels := destination.SenderConfig{
		Webhooks: c, Messages: map[notify.Kind]message.Sender{notify.Slack: c, notify.Teams: c}, Renderer: renderer, Zone: time.UTC,
	}
	cfg := destination.Config{Log: slog.New(slog.NewTextHandler(&h.log, nil))}
	if change != nil {
		change(&channels, &cfg)
	}
	d, err := destination.New(o, destination.NewSender(channels), nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done }
	return h
}

func (h *harness) advance(d time.Duration) { time.Sleep(d); synctest.Wait() }

// expect compares the state of a delivery and how often something was sent to its
// destination.
func (h *harness) expect(id, state string, sent int) {
	h.t.Helper()
	r := h.outbox.find(id)
	to := r.delivery.Destination.ID
	if r.delivery.Event != nil {
		to = id
	}
	if n := len(h.channel.sent(to)); r.state != state || n != sent {
		h.t.Errorf("%s is %s after %d messages, want %s after %d", id, r.state, n, state, sent)
	}
}

// pictures is a destination.PictureReader.
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
