package webhookreceiver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// Config is how a sink is set up.
type Config struct {
	Key         string           // the sender's WEBHOOK_SIGNING_KEY; required
	Addr        string           // to listen on, default 127.0.0.1:0
	Tolerance   time.Duration    // between the sender's clock and ours, default 300 s (section 12.2)
	Certificate *tls.Certificate // serve HTTPS with it; nil: plain HTTP
	Out         io.Writer        // gets a line for each delivery; nil: silent
}

// Sink receives webhooks until Close. It is safe for concurrent use.
type Receiver struct {
	config  Config
	url     string
	server  *http.Server
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu         sync.Mutex
	deliveries []Delivery
	changed    chan struct{} // closed at each delivery, then made anew
	faults     []*injected
}

// injected is a fault with the number of deliveries it is for.
type injected struct {
	left int // negative: for ever
	what httpfault.Fault
}

// Start makes a sink.
func Start(c Config) (*Receiver, error) {
	if c.Key == "" {
		return nil, errors.New("webhookreceiver: no key")
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Tolerance == 0 {
		c.Tolerance = tolerance
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("webhookreceiver: listen: %w", err)
	}
	s := &Receiver{config: c, url: "http://" + listener.Addr().String() + "/webhook", changed: make(chan struct{})}
	if c.Certificate != nil {
		s.url = "https" + s.url[len("http"):]
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*c.Certificate}, MinVersion: tls.VersionTLS12})
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler:           http.HandlerFunc(s.receive),
		ErrorLog:          log.New(io.Discard, "", 0), // senders that hang up are part of the tests
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// Close ends every connection and waits for the server to be gone.
func (s *Receiver) Close() error {
	s.cancel()
	err := s.server.Close()
	s.serving.Wait()
	return err
}

// URL is where to send webhooks.
func (s *Receiver) URL() string { return s.url }

// All lists every delivery so far, refused and repeated ones too, in order.
func (s *Receiver) All() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Accepted lists the first accepted delivery of each event, in order: what a
// receiver that drops repeats has got.
func (s *Receiver) Accepted() []Delivery {
	seen := map[string]bool{}
	return slices.DeleteFunc(s.All(), func(d Delivery) bool {
		if !d.Accepted || seen[d.EventID] {
			return true
		}
		seen[d.EventID] = true
		return false
	})
}

// Attempts is how often an event has been delivered.
func (s *Receiver) Attempts(eventID string) int {
	n := 0
	for _, d := range s.All() {
		if d.EventID == eventID {
			n++
		}
	}
	return n
}

// Wait returns the first delivery, past or to come, for which is is true. It
// blocks until then. Error: ctx's, with the list of what did come.
func (s *Receiver) Wait(ctx context.Context, is func(Delivery) bool) (Delivery, error) {
	for {
		s.mu.Lock()
		deliveries, changed := slices.Clone(s.deliveries), s.changed
		s.mu.Unlock()
		if i := slices.IndexFunc(deliveries, is); i >= 0 {
			return deliveries[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Delivery{}, fmt.Errorf("webhookreceiver: waiting: %w; so far came:%s", context.Cause(ctx), list(deliveries))
		}
	}
}

// Misbehave answers the next times deliveries with f, or all if times is 0,
// until the function returned is called. The latest fault acts.
func (s *Receiver) Inject(times int, f httpfault.Fault) (behave func()) {
	if times == 0 {
		times = -1
	}
	i := &injected{times, f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, i)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *injected) bool { return other == i })
	}
}

func list(deliveries []Delivery) string {
	if len(deliveries) == 0 {
		return " nothing"
	}
	var list strings.Builder
	for _, d := range deliveries {
		_, _ = fmt.Fprintf(&list, "\n  %s %s", d.Received.Local().Format(time.TimeOnly), d)
	}
	return list.String()
}
