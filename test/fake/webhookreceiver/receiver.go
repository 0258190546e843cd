package webhookreceiver

import (
	"context"
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

// Config is the configuration of a receiver.
type Config struct {
	Key       string        // the sender's WEBHOOK_SIGNING_KEY; required
	Addr      string        // to listen on, default 127.0.0.1:0
	Tolerance time.Duration // between the sender's clock and this one, default 300 s (section 12.2)
	Out       io.Writer     // gets a line for each delivery; nil: none
}

// Receiver receives webhooks until Close. It is safe for concurrent use.
type Receiver struct {
	config  Config
	url     string
	server  *http.Server
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu         sync.Mutex
	deliveries []Delivery
	changed    chan struct{} // closed and replaced at each delivery
	faults     []*injectedFault
}

// injectedFault is a fault with the number of deliveries that it is for.
type injectedFault struct {
	remaining int
	fault     httpfault.Fault
}

// Start starts a receiver. It runs until Close.
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
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler:           http.HandlerFunc(s.receive),
		ErrorLog:          log.New(io.Discard, "", 0), // senders close connections on purpose
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

// URL is the callback URL of the receiver.
func (s *Receiver) URL() string { return s.url }

// All returns every delivery so far in order, refused and repeated ones too.
func (s *Receiver) All() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Accepted returns the first accepted delivery of each event, in order.
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

// Wait blocks until a delivery matches, and returns the first that does, past or
// future. Error: ctx's, with a list of all deliveries so far.
func (s *Receiver) Wait(ctx context.Context, matches func(Delivery) bool) (Delivery, error) {
	for {
		s.mu.Lock()
		deliveries, changed := slices.Clone(s.deliveries), s.changed
		s.mu.Unlock()
		if i := slices.IndexFunc(deliveries, matches); i >= 0 {
			return deliveries[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Delivery{}, fmt.Errorf("webhookreceiver: waiting: %w; received so far:%s", context.Cause(ctx), list(deliveries))
		}
	}
}

// Inject answers the next times deliveries with f, until remove is called. The latest fault acts.
func (s *Receiver) Inject(times int, f httpfault.Fault) (remove func()) {
	i := &injectedFault{times, f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, i)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *injectedFault) bool { return other == i })
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
