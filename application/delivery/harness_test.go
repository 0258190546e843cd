package delivery_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
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

// scenario runs a test in virtual time.
func scenario(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// harness runs one dispatcher in a synctest bubble.
type harness struct {
	t        *testing.T
	outbox   *fakeOutbox
	receiver *fakeReceiver
	wake     chan struct{}
	stop     func() // ends Run and waits for it, as the end of the test does

	mu    sync.Mutex
	ended []monitor.ID
	log   bytes.Buffer
}

func start(t *testing.T, o *fakeOutbox, r *fakeReceiver, change func(*delivery.SenderConfig, *delivery.Config)) *harness {
	t.Helper()
	h := &harness{t: t, outbox: o, receiver: r, wake: make(chan struct{}, 1)}
	renderer, err := message.Load(message.Config{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	senders := delivery.SenderConfig{
		Webhooks: r, Messages: map[notify.Kind]message.Sender{notify.Slack: messages{r}, notify.Teams: messages{r}}, Renderer: renderer, Zone: time.UTC,
	}
	cfg := delivery.Config{
		Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		OnMonitorFailed: func(id monitor.ID) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended = append(h.ended, id)
		},
	}
	if change != nil {
		change(&senders, &cfg)
	}
	d, err := delivery.New(o, delivery.NewSender(senders), h.wake, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done }
	t.Cleanup(h.stop)
	return h
}

// run runs a dispatcher with an outbox of these deliveries, and a receiver that answers so.
func run(t *testing.T, o *fakeOutbox, answer func(context.Context, sending, int) message.Result, deliveries ...delivery.Delivery) *harness {
	t.Helper()
	for _, d := range deliveries {
		o.add(d)
	}
	return start(t, o, newReceiver(answer), nil)
}

// advance lets virtual time pass, and waits until all goroutines are blocked.
func (h *harness) advance(d time.Duration) { time.Sleep(d); synctest.Wait() }

// expect compares the state of a delivery, and how often it was sent.
func (h *harness) expect(id, state string, sent int) {
	h.t.Helper()
	e := h.outbox.find(id)
	to := e.delivery.Destination.ID
	if e.delivery.Event != nil {
		to = id
	}
	if n := len(h.receiver.sent(to)); e.state != state || n != sent {
		h.t.Errorf("%s is %s after %d sendings, want %s after %d", id, e.state, n, state, sent)
	}
}

func seconds(values ...float64) []time.Duration {
	var durations []time.Duration
	for _, v := range values {
		durations = append(durations, time.Duration(v*float64(time.Second)))
	}
	return durations
}

func newDestination(id string, kind notify.Kind) notify.Destination {
	return notify.Destination{
		ID: id, Name: "name of " + id, Kind: kind, Language: notify.English, Enabled: true,
		Secrets: map[string]string{"url": secretURL, "webhook_url": secretURL, "signing_key": secretKey},
	}
}

// aboutIncident returns the thread of an incident that was opened a minute ago.
func aboutIncident(id string, to notify.Destination, change ...func(*delivery.Delivery)) delivery.Delivery {
	opened := time.Now().Add(-time.Minute)
	about := &notify.StreamIncident{
		Incident: incident.Incident{
			ID: "incident of " + id, State: incident.Open, Severity: 1, SeverityNow: 1, StartedAt: opened, OpenedAt: opened,
			Conditions: []incident.Condition{{Name: "black", StartedAt: opened, LastStartedAt: opened, Count: 1, Spans: []incident.Span{{StartedAt: opened}}}},
		},
		Good: []string{"audio"}, MonitorID: "mon-a", StreamURL: "https://www.youtube.com/watch?v=XXXXXXXXXXX", Metadata: map[string]string{"channel_name": "C"},
	}
	d := delivery.Delivery{ID: id, Destination: to, Incident: about}
	for _, c := range change {
		c(&d)
	}
	return d
}

// known makes an incident one that the destination was notified of.
func known(d *delivery.Delivery) {
	d.Notified = d.Notified.After(notify.SituationOf(d.Incident.Incident), notify.NextMessage{Kind: notify.Opened, Push: true}, time.Now(), "")
}

func end(i *incident.Incident) {
	i.State, i.ResolvedAt, i.SeverityNow = incident.Resolved, time.Now(), 0
	c := i.Conditions[0]
	c.EndedAt, c.Spans = time.Now(), []incident.Span{{StartedAt: c.StartedAt, EndedAt: time.Now()}}
	i.Conditions = []incident.Condition{c}
}

// ended makes an incident one that a destination was notified of, and that has ended.
func ended(d *delivery.Delivery) { known(d); end(&d.Incident.Incident) }

// aboutStorm returns the thread of a storm that was found a minute ago.
func aboutStorm(id string, to notify.Destination) delivery.Delivery {
	return delivery.Delivery{
		ID: id, Destination: to, Storm: &message.Storm{Streams: 37, Live: 180},
		Message: notify.Planned{Situation: notify.Situation{Open: true, Severity: 3, SeverityNow: 3, Conditions: []incident.Name{"black"}, OpenedAt: time.Now().Add(-time.Minute)}},
	}
}

func aboutEvent(id string, to notify.Destination) delivery.Delivery {
	return delivery.Delivery{ID: id, Destination: to, Event: &delivery.Event{
		EventID: id, EventType: event.BlackoutRecovered, MonitorID: "mon-a", Body: []byte(`{"event_id":"` + id + `"}`), Sequence: 7,
	}}
}

// toCallback returns an event for the callback of a monitor, which ends with it by default.
func toCallback(id string, m monitor.ID, onFailure ...monitor.CallbackFailure) delivery.Delivery {
	policy := notify.CallbackPolicy(append(onFailure, monitor.EndMonitor)[0])
	return delivery.Delivery{ID: id, Callback: secretURL, Policy: policy, Event: &delivery.Event{EventID: id, EventType: event.Blackout, MonitorID: m, Body: []byte("{}")}}
}
