package postgres_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// receiver records webhooks. It may do something more with them: answer.
type receiver struct {
	url    string
	answer func(r *http.Request)

	mu       sync.Mutex
	arrivals map[string][]string // IDs of events, by path
}

func startReceiver(t testing.TB, answer func(r *http.Request)) *receiver {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &receiver{url: "http://" + l.Addr().String(), answer: answer, arrivals: map[string][]string{}}
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

func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	r.mu.Lock()
	r.arrivals[req.URL.Path] = append(r.arrivals[req.URL.Path], req.Header.Get("X-Event-Id"))
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(req)
	}
}

// eventsOf returns the events received for a monitor, in order.
func (r *receiver) eventsOf(id monitor.ID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrivals["/"+string(id)])
}

// arrivalsAt returns how much was received at a path.
func (r *receiver) arrivalsAt(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrivals[path])
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
func newWebhookSender() (*webhook.Sender, error) {
	keys, invalid := webhook.ParseKeys("a-key")
	local, err := webhook.ParseNetworks("127.0.0.0/8")
	return webhook.NewSender(keys, webhook.NewGuard(local, nil), webhook.Config{Timeout: delivery.SendTimeout}), errors.Join(invalid, err)
}
