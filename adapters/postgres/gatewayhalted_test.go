package postgres_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	messages "github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// These are the environment of a copy of this test program that is a gateway: its DSN, and where its messages go.
const (
	gatewayOf    = "STORE_TEST_GATEWAY_OF"
	gatewayTells = "STORE_TEST_GATEWAY_TELLS"
)

// runGateway is a gateway of its own. Each line of its input is a monitor whose stream has gone black: it stores that
// report until it is accepted, as a worker does.
func runGateway(dsn, tells string) int {
	ctx := context.Background()
	s, err := postgres.Open(ctx, dsn, postgres.Config{MaxConnections: 8})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() { _ = serveGateway(ctx, s, tells) }()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		r := report(trouble(detector.Blackout, justNow()))
		for {
			if _, err := s.Accept(ctx, monitor.ID(lines.Text()), r); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return 0
}

// startGateway runs serveGateway until the test ends.
func startGateway(t testing.TB, s *postgres.Store, tells string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveGateway(ctx, s, tells) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// serveGateway delivers, with messages that go to a URL, and numbers the feed, until ctx is done.
func serveGateway(ctx context.Context, s *postgres.Store, tells string) error {
	sender, err := newWebhookSender()
	if err != nil {
		return err
	}
	defer sender.Close()
	renderer, err := messages.Load(messages.Config{})
	if err != nil {
		return err
	}
	to := delivery.NewSender(delivery.SenderConfig{
		Webhooks: sender, Renderer: renderer, Messages: map[notify.Kind]messages.Sender{notify.Discord: postingSender(tells)},
	})
	wakes := s.Listen(ctx)
	d, err := delivery.New(s, to, wakes, delivery.Config{GracePeriod: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var numbering sync.WaitGroup
	numbering.Go(func() {
		for ctx.Err() == nil {
			_, _ = s.NumberFeed(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	})
	d.Run(ctx)
	numbering.Wait()
	for range wakes { // closed when it listens no more
	}
	return nil
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

// haltedGateway is a gateway in a process of its own that is halted once.
type haltedGateway struct {
	process *os.Process
	input   io.Writer
	proxy   *proxy
	halted  chan struct{} // closed when it is
	resumed chan struct{}
	isOver  atomic.Bool // it was halted, and is not again
}

// startHaltedGateway starts a gateway that tells what it tells to a URL.
func startHaltedGateway(t *testing.T, dsn, tells string) *haltedGateway {
	t.Helper()
	g := &haltedGateway{proxy: startProxy(t, dsn), halted: make(chan struct{}), resumed: make(chan struct{})}
	cmd := exec.CommandContext(t.Context(), must(os.Executable())(t))
	cmd.Env = append(os.Environ(), gatewayOf+"="+g.proxy.dsn+" application_name=halted idle_in_transaction_session_timeout="+strconv.FormatInt(idleTimeout.Milliseconds(), 10), gatewayTells+"="+tells)
	cmd.Stderr = os.Stderr
	g.input = must(cmd.StdinPipe())(t)
	check(t, cmd.Start())
	g.process = cmd.Process
	t.Cleanup(func() {
		if g.isOver.Load() {
			g.resume()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return g
}

// halt stops the process, as SIGSTOP does, unless it was halted before.
func (g *haltedGateway) halt() (first bool) {
	if !g.isOver.CompareAndSwap(false, true) {
		return false
	}
	_ = g.process.Signal(syscall.SIGSTOP)
	close(g.halted)
	return true
}

// haltAt halts the gateway before a statement, or when the server has executed it and the gateway does not know that yet.
func (g *haltedGateway) haltAt(at func(transaction []string) bool, executed bool) {
	halt := func(transaction []string) {
		if at(transaction) && g.halt() && !executed {
			<-g.resumed
		}
	}
	g.proxy.halt.Store(&halt)
}

func (g *haltedGateway) resume() {
	select {
	case <-g.resumed:
	default:
		_ = g.process.Signal(syscall.SIGCONT)
		close(g.resumed)
	}
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
	leaseEnds bool                            // while the gateway is halted
	isLocked  bool                            // the destination is, or may be
}

const destinationLock = "FROM destinations WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"

var haltSteps = []haltStep{
	{name: "report, before its commit", at: commitOf("INSERT INTO monitor_events")},
	{name: "routing, between reading and storing", at: func(transaction []string) bool {
		return strings.Contains(transaction[len(transaction)-1], "WITH routed AS")
	}},
	{name: "lease, before its commit", at: commitOf(destinationLock), isLocked: true},
	{name: "between lease and sending", at: commitOf(destinationLock), executed: true},
	{name: "between lease and sending, until the lease has ended", at: commitOf(destinationLock), executed: true, leaseEnds: true},
	{name: "between sending and recording"},
	{name: "between sending and recording, until the lease has ended", leaseEnds: true},
	{name: "recording, before its commit", at: commitOf("FROM deliveries WHERE id = $1 FOR UPDATE"), isLocked: true},
	{name: "feed, before its commit", at: commitOf("FROM feed_head FOR UPDATE"), isLocked: true},
}

// A gateway is halted at each step of the way of a message. Another one tells what has happened to another stream
// meanwhile, unless the halted one has locked the destination: the server ends that after idleTimeout. The message of the
// halted one is told, too; it is told twice only if its lease has ended meanwhile.
func TestAHaltedGatewayHoldsUpNoOtherStream(t *testing.T) {
	for _, step := range haltSteps {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			w := newHaltWorld(t, step)
			resume := w.haltAtStep()
			w.tellOther()
			if step.leaseEnds {
				alter(t, w.db, `UPDATE deliveries SET due_at = now() - interval '1 second' WHERE lease IS NOT NULL AND monitor_id = $1`, w.first.ID)
				w.arrivals(w.messages(w.first, "shared"), map[bool]int{true: 1, false: 2}[step.at != nil]) // the other gateway tells it
			}
			w.eventuallyNone(haltedTransactions)
			resume()
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
	dsn          string
	receiver     *receiver
	gateway      *haltedGateway
	first, other monitor.Monitor
	begun        string // rows that are there until the server ends what the halted gateway has begun; empty: it has begun nothing
}

// newHaltWorld leads both streams to the destination "shared", and the other one to "own", too.
func newHaltWorld(t *testing.T, step haltStep) *haltWorld {
	t.Helper()
	w := &haltWorld{T: t, step: step, dsn: database(t)}
	w.s, w.db = open(t, w.dsn), raw(t, w.dsn)
	w.receiver = startReceiver(t, func(r *http.Request) {
		if step.at == nil && strings.HasPrefix(r.URL.Path, "/shared/") {
			w.gateway.halt()
		}
	})
	w.first, w.other = registerWithCallback(t, w.s, 1, w.receiver.url), registerWithCallback(t, w.s, 2, w.receiver.url)
	for _, m := range []monitor.Monitor{w.first, w.other} {
		acceptReport(t, w.s, m.ID, report(), monitor.Run)
	}
	addDestination(t, w.s, notify.Discord, "shared")
	own := must(w.s.CreateDestination(t.Context(), notify.Destination{
		ID: newID(), Name: "own", Kind: notify.Discord, Language: notify.English, Enabled: true,
	}))(t).Destination
	r := createRoute(t, w.s, "own", own.ID)
	must(w.s.ChangeRoute(t.Context(), r.ID, func(r *notify.Route) error {
		r.Match, r.Continue = notify.Match{Monitors: []monitor.ID{w.other.ID}}, true
		return nil
	}))(t)
	return w
}

// haltAtStep lets the first stream go black at a gateway that is halted at the step, and then starts another gateway.
func (w *haltWorld) haltAtStep() (resume func()) {
	w.Helper()
	w.gateway = startHaltedGateway(w.T, w.dsn, w.receiver.url)
	if w.step.at != nil {
		w.gateway.haltAt(w.step.at, w.step.executed)
	}
	must(fmt.Fprintln(w.gateway.input, w.first.ID))(w)
	select {
	case <-w.gateway.halted:
	case <-time.After(patience):
		w.Fatal("it does not come to this step")
	}
	switch {
	case w.step.at == nil || w.step.executed:
		w.begun = `deliveries WHERE lease IS NOT NULL AND monitor_id = '` + string(w.first.ID) + `'`
	case countRows(w, w.db, haltedTransactions) > 0:
		w.begun = haltedTransactions
	}
	startGateway(w.T, w.s, w.receiver.url)
	return w.gateway.resume
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
	eventually(w, fmt.Sprintf("%d arrive at %s", n, path), func() bool { return w.receiver.arrivalsAt(path) >= n })
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
		if n := w.receiver.arrivalsAt(path); n == 0 || n > most {
			w.Errorf("%d arrived at %s, want %d at most", n, path, most)
		}
	}
}
