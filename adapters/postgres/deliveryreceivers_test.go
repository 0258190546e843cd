package postgres_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// arrival is a received webhook.
type arrival struct {
	monitor string // the path of the callback
	event   string
	at      time.Time
}

// receiver records webhooks and answers them with answer; nil: status 200.
type receiver struct {
	url    string
	answer func(w http.ResponseWriter, r *http.Request)

	mu       sync.Mutex
	arrivals []arrival
}

func startReceiver(t testing.TB, answer func(w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &receiver{url: "http://" + l.Addr().String(), answer: answer}
	end, cut := context.WithCancel(context.Background())
	s := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return end }}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // until it is closed
	t.Cleanup(func() {
		cut()
		_ = s.Close()
		serving.Wait()
	})
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	r.mu.Lock()
	r.arrivals = append(r.arrivals, arrival{req.URL.Path, req.Header.Get("X-Event-Id"), time.Now()})
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, req)
	}
}

// eventsOf returns the events received for a monitor, in order.
func (r *receiver) eventsOf(id monitor.ID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []string
	for _, a := range r.arrivals {
		if a.monitor == "/"+string(id) {
			events = append(events, a.event)
		}
	}
	return events
}

// registerWithCallback registers a monitor whose webhooks go to url.
func registerWithCallback(t testing.TB, s *postgres.Store, n int, url string) monitor.Monitor {
	t.Helper()
	m := registration(n)
	m.CallbackURL = monitor.CallbackURL(url + "/" + string(m.ID))
	check(t, s.Insert(t.Context(), m, unlimited))
	return m
}

// newWebhookSender returns a sender to receivers on loopback.
func newWebhookSender(timeout time.Duration) (*webhook.Sender, error) {
	keys, err := webhook.ParseKeys("a-key")
	if err != nil {
		return nil, err
	}
	local, err := webhook.ParseNetworks("127.0.0.0/8")
	if err != nil {
		return nil, err
	}
	return webhook.NewSender(keys, webhook.NewGuard(local, nil), webhook.Config{Timeout: timeout}), nil
}

// startDispatcher runs a dispatcher until the test ends.
func startDispatcher(t testing.TB, s *postgres.Store, timeout time.Duration) {
	t.Helper()
	sender := must(newWebhookSender(timeout))(t)
	ctx, cancel := context.WithCancel(context.Background())
	wakes := s.Listen(ctx)
	d := must(delivery.New(s.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: sender}), wakes, delivery.Config{GracePeriod: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}))(t)
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for range wakes { // closed when it listens no more
		}
		sender.Close()
	})
}
