package callback_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// evidenceFunc is a delivery.EvidenceFinder.
type evidenceFunc func(ctx context.Context) (*event.Evidence, error)

func (f evidenceFunc) FindEvidence(ctx context.Context, _ monitor.ID, _ string, _ event.Type) (*event.Evidence, error) {
	return f(ctx)
}

// bodies keeps the bodies of the attempts, of which only the last is accepted.
type bodies struct {
	attempts int
	sent     []string
	at       []time.Time
}

func (b *bodies) Send(_ context.Context, d callback.Delivery) delivery.Attempt {
	b.sent, b.at = append(b.sent, string(d.Body)), append(b.at, time.Now())
	if len(b.sent) < b.attempts {
		return delivery.Attempt{At: time.Now(), Status: 503, Error: "503"}
	}
	return delivery.Attempt{At: time.Now(), Status: 200}
}

// runWithEvidence delivers one event until it is accepted.
func runWithEvidence(t *testing.T, d callback.Delivery, attempts int, find evidenceFunc) (b *bodies, began time.Time) {
	t.Helper()
	b, began = &bodies{attempts: attempts}, time.Now()
	o := &fakeOutbox{}
	o.add("e", "mon-1")
	d.EventID, d.MonitorID, d.CallbackURL, d.Body = "e", "mon-1", o.entries[0].delivery.CallbackURL, []byte(`{"event_id":"e"}`)
	o.entries[0].delivery = d
	dispatcher, err := callback.New(o, b, nil, callback.Config{Evidence: find, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { dispatcher.Run(ctx); close(done) }()
	time.Sleep(20 * time.Second)
	cancel()
	<-done
	return b, began
}

func TestEvidenceComesWithLaterAttempts(t *testing.T) { // section 16.2
	const plain, full = `{"event_id":"e"}`, `{"event_id":"e","evidence":{"evidence_id":"ev","event_id":"","links":null,"expires_at":"0001-01-01T00:00:00Z"}}`
	there := func(context.Context) (*event.Evidence, error) { return &event.Evidence{EvidenceID: "ev"}, nil }
	for _, c := range []struct {
		name     string
		delivery callback.Delivery
		find     evidenceFunc
		want     []string
		late     time.Duration // of the first attempt
	}{
		{"a fresh alert is sent without it, its second attempt with it", callback.Delivery{EventType: event.Blackout}, there, []string{plain, full}, 0},
		{"an alert that has waited has it", callback.Delivery{EventType: event.Blackout, Age: time.Minute}, there, []string{full}, 0},
		{"blindness that has waited has it", callback.Delivery{EventType: event.MonitorError, Age: time.Minute}, there, []string{full}, 0},
		{"a recovery has it", callback.Delivery{EventType: event.BlackoutRecovered}, there, []string{full}, 0},
		{"another event never has it", callback.Delivery{EventType: event.StreamStarted, Age: time.Minute}, there, []string{plain, plain}, 0},
		{"none is there", callback.Delivery{EventType: event.Silence, Age: time.Minute},
			func(context.Context) (*event.Evidence, error) { return nil, nil }, []string{plain}, 0},
		{"it cannot be read", callback.Delivery{EventType: event.SegmentError, Age: time.Minute},
			func(context.Context) (*event.Evidence, error) { return nil, errors.New("no database") }, []string{plain}, 0},
		{"a database that does not answer costs half a second", callback.Delivery{EventType: event.Silence, Age: time.Minute},
			func(ctx context.Context) (*event.Evidence, error) { <-ctx.Done(); return nil, ctx.Err() }, []string{plain}, 500 * time.Millisecond},
		{"a fresh alert does not wait for that", callback.Delivery{EventType: event.Silence},
			func(ctx context.Context) (*event.Evidence, error) { <-ctx.Done(); return nil, ctx.Err() }, []string{plain}, 0},
	} {
		scenario(t, c.name, func(t *testing.T) {
			b, began := runWithEvidence(t, c.delivery, len(c.want), c.find)
			if len(b.sent) != len(c.want) {
				t.Fatalf("sent were %q", b.sent)
			}
			for i, want := range c.want {
				if b.sent[i] != want {
					t.Errorf("attempt %d is %s, want %s", i+1, b.sent[i], want)
				}
			}
			if late := b.at[0].Sub(began); late != c.late {
				t.Errorf("the first attempt came after %v, want %v", late, c.late)
			}
		})
	}
}
