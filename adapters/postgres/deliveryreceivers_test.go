package postgres_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := s.Insert(t.Context(), m, unlimited); err != nil {
		t.Fatal(err)
	}
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

// startDispatcher runs a dispatcher until stop is called.
func startDispatcher(t testing.TB, s *postgres.Store, outbox delivery.Outbox, timeout time.Duration) (stop func()) {
	t.Helper()
	sender := must[*webhook.Sender](t)(newWebhookSender(timeout))
	ctx, cancel := context.WithCancel(context.Background())
	wakes := s.Listen(ctx)
	d, err := delivery.New(outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: sender}), wakes, delivery.Config{GracePeriod: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			running.Wait()
			for range wakes { // closed when it listens no more
			}
			sender.Close()
		})
	}
	t.Cleanup(stop)
	return stop
}

// neverAnswer does not answer while the client waits.
func neverAnswer(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func closeConnection(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// writeRepeatedly writes first to the connection, and then again repeatedly until the
// client has closed it.
func writeRepeatedly(first, again string, every time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		out := bufio.NewWriter(conn)
		_, _ = out.WriteString(first)
		for out.Flush() == nil {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(every):
			}
			if _, err := out.WriteString(again); err != nil {
				return
			}
		}
	}
}

// bad lists misbehaving receivers; some of them accept the webhook.
var bad = map[string]struct {
	answer    func(http.ResponseWriter, *http.Request)
	delivered bool
}{
	"hangs":                     {neverAnswer, false},
	"closes without an answer":  {closeConnection, false},
	"drips a byte a second":     {writeRepeatedly("HTTP/1.1 2", "0", time.Second), false},
	"answers 1xx for ever":      {writeRepeatedly("", "HTTP/1.1 103 Early Hints\r\n\r\n", time.Millisecond), false},
	"sends a header for ever":   {writeRepeatedly("HTTP/1.1 200 OK\r\n", "X-More: and more\r\n", 0), false},
	"drips a header":            {writeRepeatedly("HTTP/1.1 200 OK\r\n", "X-More: and more\r\n", 300*time.Millisecond), false},
	"sends a body for ever":     {writeRepeatedly("HTTP/1.1 200 OK\r\n\r\n", "and more and more", 0), true},
	"drips a body":              {writeRepeatedly("HTTP/1.1 200 OK\r\n\r\n", "a", 300*time.Millisecond), true},
	"sends chunks for ever":     {writeRepeatedly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", time.Millisecond), true},
	"promises more than it has": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000") }, true},
}

func TestAMisbehavingReceiverEndsOnlyItsOwnMonitor(t *testing.T) {
	const timeout = 3 * time.Second
	s := open(t, database(t))
	good := startReceiver(t, nil)
	type victim struct {
		name string
		m    monitor.Monitor
		e    event.Event
	}
	var victims []victim
	for name, b := range bad {
		m, e := registerWithCallback(t, s, len(victims), startReceiver(t, b.answer).url), blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		victims = append(victims, victim{name, m, e})
	}
	startDispatcher(t, s, s.Outbox, timeout)
	m := registerWithCallback(t, s, len(victims), good.url)
	began := time.Now()
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
	eventually(t, "the good receiver is told", func() bool { return len(good.eventsOf(m.ID)) == 1 })
	// One after another, the bad receivers would take most of a timeout each.
	if took := time.Since(began); took > time.Duration(len(victims))*timeout/2 {
		t.Errorf("beside bad receivers it took %v", took)
	}
	for _, v := range victims {
		t.Run("a receiver that "+v.name, func(t *testing.T) {
			eventually(t, "an attempt is recorded", func() bool {
				page, _, err := s.Events(t.Context(), v.m.ID, 1, 0)
				return err == nil && len(page[0].Attempts) > 0
			})
			page, _, err := s.Events(t.Context(), v.m.ID, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if delivered := page[0].Attempts[0].Error == ""; delivered != bad[v.name].delivered {
				t.Errorf("delivered is %t: %+v", delivered, page[0])
			}
		})
	}
}

func TestAReceiverThatDoesNotAnswerDelaysNoOther(t *testing.T) {
	const soon = delivery.SendTimeout * 4 / 5
	t.Run("with ten thousand pending events", func(t *testing.T) {
		dsn := create(t, template)
		s, db := open(t, dsn), raw(t, dsn)
		dead := registerWithCallback(t, s, 1, startReceiver(t, neverAnswer).url)
		addEvents(t, db, "pending", 10000, dead.ID)
		requireOthersInTime(t, s, soon)
	})

	t.Run("also if there are a hundred", func(t *testing.T) {
		s := open(t, database(t))
		dead := startReceiver(t, neverAnswer)
		for n := range 100 {
			acceptReport(t, s, registerWithCallback(t, s, n, dead.url).ID, report(blackout(1)), monitor.Run)
		}
		requireOthersInTime(t, s, soon)
	})
}

// requireOthersInTime fails the test unless the events of other monitors are sent soon.
func requireOthersInTime(t *testing.T, s *postgres.Store, soon time.Duration) {
	t.Helper()
	startDispatcher(t, s, s.Outbox, delivery.SendTimeout)
	good := startReceiver(t, nil)
	var worst time.Duration
	for n := range 20 {
		m := registerWithCallback(t, s, 500+n, good.url)
		began := time.Now()
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		eventually(t, "another's event leaves", func() bool { return len(good.eventsOf(m.ID)) == 1 })
		worst = max(worst, time.Since(began))
	}
	t.Logf("the slowest of 20 took %v", worst)
	if worst > soon {
		t.Errorf("the slowest took %v", worst)
	}
}

// nonRecordingOutbox is an outbox that records nothing, like that of a gateway that is killed
// after sending.
type nonRecordingOutbox struct {
	*postgres.Outbox

	dead       context.Context
	unrecorded atomic.Int64
}

func (m *nonRecordingOutbox) Record(context.Context, delivery.Delivery, delivery.Outcome) (delivery.Recorded, error) {
	m.unrecorded.Add(1)
	<-m.dead.Done()
	return delivery.Recorded{}, context.Canceled
}

func TestAnEventIsSentAgainIfItsGatewayWasKilledBeforeRecording(t *testing.T) {
	const monitors, each = 8, 5
	dsn := database(t)
	first, second, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	good := startReceiver(t, nil)
	want := map[monitor.ID][]string{}
	for n := range monitors {
		m := registerWithCallback(t, first, n, good.url)
		var events []event.Event
		for i := range each {
			events = append(events, blackout(i))
			want[m.ID] = append(want[m.ID], events[i].ID)
		}
		acceptReport(t, first, m.ID, report(events...), monitor.Run)
	}
	dying, kill := context.WithCancel(t.Context())
	outbox := &nonRecordingOutbox{Outbox: first.Outbox, dead: dying}
	stop := startDispatcher(t, first, outbox, delivery.SendTimeout)
	eventually(t, "one of each monitor has been sent", func() bool { return outbox.unrecorded.Load() == monitors })
	kill()
	stop()

	startDispatcher(t, second, second.Outbox, delivery.SendTimeout)
	for n := range monitors {
		m := registerWithCallback(t, second, 100+n, good.url) // the second gateway works
		acceptReport(t, second, m.ID, report(blackout(1)), monitor.Run)
		eventually(t, "the other monitors' events have arrived", func() bool { return len(good.eventsOf(m.ID)) == 1 })
	}
	for id := range want {
		if have := good.eventsOf(id); len(have) != 1 {
			t.Errorf("while the lease lasts %v arrived", have)
		}
	}
	endLeases(t, db)
	for id, events := range want {
		again := slices.Concat(events[:1], events) // the first one a second time
		eventually(t, "all events have arrived", func() bool { return len(good.eventsOf(id)) >= len(again) })
		if have := good.eventsOf(id); !slices.Equal(have, again) {
			t.Errorf("%s: arrived\n%v, want\n%v", id, have, again)
		}
	}
}
