package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	messages "github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// startGateway delivers, with messages that go to a URL, and numbers the feed, until the test ends.
func startGateway(t testing.TB, s *postgres.Store, tells string) {
	t.Helper()
	local := must(webhook.ParseNetworks("127.0.0.0/8"))(t)
	sender := webhook.NewSender(must(webhook.ParseKeys("a-key"))(t), webhook.NewGuard(local, nil), webhook.Config{Timeout: delivery.SendTimeout})
	to := delivery.NewSender(delivery.SenderConfig{
		Webhooks: sender, Renderer: must(messages.Load(messages.Config{}))(t), Messages: map[notify.Kind]messages.Sender{notify.Discord: postingSender(tells)},
	})
	ctx, cancel := context.WithCancel(context.Background())
	wakes := s.Listen(ctx)
	d := must(delivery.New(s, to, wakes, delivery.Config{GracePeriod: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}))(t)
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			_, _ = s.NumberFeed(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		sender.Close()
		for range wakes { // closed when it listens no more
		}
	})
}

// postingSender posts messages to the path DESTINATION/INCIDENT of a URL.
type postingSender string

// Send makes an attempt.
func (s postingSender) Send(ctx context.Context, d notify.Destination, m messages.Message) messages.Result {
	r := messages.Result{Attempt: event.Attempt{At: time.Now(), Error: "no answer"}, Class: notify.Retry}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s)+"/"+d.Name+"/"+m.ThreadID, http.NoBody)
	if err != nil {
		return r
	}
	req.Header.Set("X-Event-Id", string(m.Kind))
	a, err := http.DefaultClient.Do(req)
	if err != nil {
		return r
	}
	_ = a.Body.Close()
	return messages.Result{Attempt: event.Attempt{At: r.At, Status: a.StatusCode}, Ref: "ref"}
}

// commitOf matches the commit of a transaction with a statement.
func commitOf(text string) func([]string) bool {
	return func(transaction []string) bool {
		return transaction[len(transaction)-1] == "COMMIT" && strings.Contains(strings.Join(transaction, "\n"), text)
	}
}

// idleTimeout is how long a transaction of the halted gateway lasts: longer than everything takes that waits for nobody.
const idleTimeout = 20 * time.Second

// haltStep is a point on the way of a message at which a gateway is halted.
type haltStep struct {
	name      string
	at        func(transaction []string) bool // nil: the destination has got the message, and answers
	executed  bool                            // the server has executed the statement
	isOpen    bool                            // a transaction of the halted gateway is
	leaseEnds bool                            // while the gateway is halted
	isLocked  bool                            // the destination is, or may be
}

const destinationLock = "FROM destinations WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"

var haltSteps = []haltStep{
	{name: "report, before its commit", at: commitOf("INSERT INTO monitor_events"), isOpen: true},
	{name: "routing, between reading and storing", at: func(transaction []string) bool {
		return strings.Contains(transaction[len(transaction)-1], "WITH routed AS")
	}},
	{name: "lease, before its commit", at: commitOf(destinationLock), isOpen: true, isLocked: true},
	{name: "between lease and sending", at: commitOf(destinationLock), executed: true},
	{name: "between lease and sending, until the lease has ended", at: commitOf(destinationLock), executed: true, leaseEnds: true},
	{name: "between sending and recording"},
	{name: "between sending and recording, until the lease has ended", leaseEnds: true},
	{name: "recording, before its commit", at: commitOf("FROM deliveries WHERE id = $1 FOR UPDATE"), isOpen: true, isLocked: true},
	{name: "feed, before its commit", at: commitOf("FROM feed_head FOR UPDATE"), isOpen: true, isLocked: true},
}

// A gateway is halted at each step of the way of a message. Another one tells what has happened to another stream
// meanwhile, unless the halted one has locked the destination: the server ends that after idleTimeout. The message of the
// halted one is told, too; it is told twice only if its lease has ended meanwhile.
func TestAHaltedGatewayHoldsUpNoOtherStream(t *testing.T) {
	for _, step := range haltSteps {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			w := newHaltWorld(t, step)
			w.haltAtStep()
			w.tellOther()
			if step.leaseEnds {
				alter(t, w.db, `UPDATE deliveries SET due_at = now() - interval '1 second' WHERE lease IS NOT NULL AND monitor_id = $1`, w.first.ID)
				w.arrivals(w.messages(w.first, "shared"), map[bool]int{true: 1, false: 2}[step.at != nil]) // the other gateway tells it
			}
			w.eventuallyNone(haltedTransactions)
			w.resume()
			w.reported()
			w.arrivals("/"+string(w.first.ID), 1)
			w.arrivals(w.messages(w.first, "shared"), 1)
			w.eventuallyNone("deliveries WHERE state = 'pending' AND (lease IS NOT NULL OR due_at <= now())")
			w.eventuallyNone("feed_inbox")
			w.expectTold()
		})
	}
}

const haltedTransactions = `pg_stat_activity WHERE datname = current_database() AND application_name = 'halted' AND state = 'idle in transaction'`

// haltWorld has a stream of the gateway that is halted, and another.
type haltWorld struct {
	*testing.T

	step         haltStep
	s            *postgres.Store
	db           *sql.DB
	receiver     *receiver
	first, other monitor.Monitor
	proxy        *proxy        // of the gateway that is halted
	once         sync.Once     // it is halted once
	halted       chan struct{} // closed when it is
	resume       func()
	reported     func() // waits until the halted gateway has stored the first stream's report
	begun        string // rows that are there until the server ends what the halted gateway has begun; empty: it has begun nothing
}

// newHaltWorld leads both streams to the destination "shared", and the other one to "own", too.
func newHaltWorld(t *testing.T, step haltStep) *haltWorld {
	t.Helper()
	dsn := database(t)
	w := &haltWorld{T: t, step: step, s: open(t, dsn), db: raw(t, dsn), proxy: startProxy(t, dsn), halted: make(chan struct{})}
	w.receiver = startReceiver(t, func(r *http.Request) {
		if step.at == nil && strings.HasPrefix(r.URL.Path, "/shared/") {
			w.halt()
		}
	})
	w.first, w.other = registerWithCallback(t, w.s, 1, w.receiver.url), registerWithCallback(t, w.s, 2, w.receiver.url)
	for _, m := range []monitor.Monitor{w.first, w.other} {
		acceptReport(t, w.s, m.ID, report(), monitor.Run)
	}
	addDestination(t, w.s, notify.Discord, "shared")
	addRoute(t, w.s, notify.Discord, "own", notify.Match{Monitors: []monitor.ID{w.other.ID}})
	return w
}

// halt lets nothing pass any more between the gateway and the server.
func (w *haltWorld) halt() {
	w.once.Do(func() {
		w.resume = w.proxy.freeze()
		close(w.halted)
	})
}

// haltAtStep lets the first stream go black at a gateway that is halted at the step, and then starts another gateway.
func (w *haltWorld) haltAtStep() {
	w.Helper()
	halted := openSlow(w.T, fmt.Sprint(w.proxy.dsn, " application_name=halted idle_in_transaction_session_timeout=", idleTimeout.Milliseconds()))
	startGateway(w.T, halted, w.receiver.url)
	if w.step.at != nil {
		halt := func(transaction []string) {
			if w.step.at(transaction) {
				w.halt()
				if !w.step.executed {
					w.proxy.pass()
				}
			}
		}
		w.proxy.halt.Store(&halt)
	}
	w.reported = sync.OnceFunc(inBackground(w.T, func() error {
		return reportUntilAccepted(w.Context(), halted, w.first.ID, report(trouble(detector.Blackout, justNow())))
	}))
	select {
	case <-w.halted:
		w.Cleanup(func() { w.resume(); w.reported() })
	case <-time.After(patience):
		w.Fatal("it does not come to this step")
	}
	switch {
	case w.step.at == nil || w.step.executed:
		w.begun = `deliveries WHERE lease IS NOT NULL AND monitor_id = '` + string(w.first.ID) + `'`
	case w.step.isOpen:
		w.begun = haltedTransactions
	}
	startGateway(w.T, w.s, w.receiver.url)
}

// tellOther lets the other stream go black. The test fails if it is told only when the server has ended what the halted
// gateway has begun: its transaction, or its lease.
func (w *haltWorld) tellOther() {
	w.Helper()
	acceptReport(w.T, w.s, w.other.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	w.arrivals("/"+string(w.other.ID), 1)
	w.arrivals(w.messages(w.other, "own"), 1)
	if !w.step.isLocked {
		w.arrivals(w.messages(w.other, "shared"), 1)
	}
	if w.begun != "" && countRows(w, w.db, w.begun) == 0 {
		w.Error("the other stream was told only when the server had ended what the halted gateway has begun")
	}
	w.arrivals(w.messages(w.other, "shared"), 1)
	w.eventuallyNone("feed_inbox") // the halted process may be numbering it, whatever else it is at
}

// messages returns the path of the messages about the incident of a monitor.
func (w *haltWorld) messages(m monitor.Monitor, destination string) string {
	w.Helper()
	return "/" + destination + "/" + onlyIncident(w, w.s, m.ID).ID
}

// arrivals waits until something has arrived n times at a path.
func (w *haltWorld) arrivals(path string, n int) {
	w.Helper()
	eventually(w, fmt.Sprintf("%d arrive at %s", n, path), func() bool { return len(w.receiver.at(path)) >= n })
}

func (w *haltWorld) eventuallyNone(rows string) {
	w.Helper()
	eventually(w, "no row of "+rows, func() bool { return countRows(w, w.db, rows) == 0 })
}

// expectTold fails the test unless each stream was told once; what was leased when its lease ended may be told twice.
func (w *haltWorld) expectTold() {
	w.Helper()
	atMost := 1
	if w.step.leaseEnds {
		atMost = 2
	}
	for path, most := range map[string]int{
		"/" + string(w.first.ID): atMost, w.messages(w.first, "shared"): atMost, "/" + string(w.other.ID): 1, w.messages(w.other, "shared"): 1, w.messages(w.other, "own"): 1,
	} {
		if n := len(w.receiver.at(path)); n == 0 || n > most {
			w.Errorf("%d arrived at %s, want %d at most", n, path, most)
		}
	}
}

// receiver records webhooks. It may do something more with them: answer.
type receiver struct {
	url    string
	answer func(r *http.Request)

	mu       sync.Mutex
	arrivals map[string][]string // IDs of events, by path
}

func startReceiver(t testing.TB, answer func(r *http.Request)) *receiver {
	t.Helper()
	r := &receiver{answer: answer, arrivals: map[string][]string{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
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

// at returns the IDs of the events that were received at a path, in order.
func (r *receiver) at(path string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrivals[path])
}

// registerWithCallback registers a monitor whose webhooks go to url.
func registerWithCallback(t testing.TB, s *postgres.Store, n int, url string) monitor.Monitor {
	t.Helper()
	m := registration(n)
	m.CallbackURL = monitor.CallbackURL(url + "/" + string(m.ID))
	check(t, s.Insert(t.Context(), m, unlimited))
	return m
}
