package proxies

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Chooser chooses the address of each question by the rules of domain/egress, and logs what
// changes. All streams of a process share one. It may be used concurrently.
type Chooser struct {
	log *slog.Logger

	addresses []string
	budget    int

	mu    sync.Mutex
	pools map[monitor.SourceName]*egress.Pool
}

// NewChooser makes a Chooser of the addresses of a list. budget is how many questions each may
// ask a source in an hour; 0: any number.
func NewChooser(l *List, budget int, log *slog.Logger) *Chooser {
	return &Chooser{addresses: l.Names(), budget: budget, pools: map[monitor.SourceName]*egress.Pool{}, log: log.With("component", "egress")}
}

// pool returns the Pool of a source. c.mu is held.
func (c *Chooser) pool(source monitor.SourceName) *egress.Pool {
	if c.pools[source] == nil {
		c.pools[source] = egress.NewPool(source, c.addresses, c.budget)
	}
	return c.pools[source]
}

// Delay returns for how long the budget holds back a poll.
func (c *Chooser) Delay(url monitor.StreamURL, preferred string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	delay, notices := c.pool(url.Source()).Delay(time.Now(), url, preferred)
	c.logNotices(url.Source(), notices)
	return delay
}

// Other returns an address other than avoided; empty: there is none that does not rest.
func (c *Chooser) Other(url monitor.StreamURL, avoided string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool(url.Source()).Other(time.Now(), url, avoided)
}

// Choose returns the address of a question that is asked now.
func (c *Chooser) Choose(url monitor.StreamURL, preferred string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	address, notices := c.pool(url.Source()).Choose(time.Now(), url, preferred)
	c.logNotices(url.Source(), notices)
	return address
}

// Record records the answer to a question of urgency u.
func (c *Chooser) Record(url monitor.StreamURL, address string, u watch.Urgency, state watch.StreamState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logNotices(url.Source(), c.pool(url.Source()).Record(time.Now(), url, address, u, state))
}

// Page returns the address through which the page of a channel of a source is read now. ok is false if the budget holds it
// back. A nil Chooser holds nothing back and has one address without a name.
func (c *Chooser) Page(source monitor.SourceName) (address string, ok bool) {
	if c == nil {
		return "", true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool(source).Page(time.Now())
}

// RecordPage records what became of the reading of a page, as egress.Pool does. A nil Chooser records nothing.
func (c *Chooser) RecordPage(source monitor.SourceName, address string, state watch.StreamState) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logNotices(source, c.pool(source).RecordPage(time.Now(), address, state))
}

// Status returns the state of every address for each source. A nil Chooser has none.
func (c *Chooser) Status() (all []egress.Status) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, source := range monitor.Sources {
		all = append(all, c.pool(source.Name).Status(time.Now())...)
	}
	return all
}

// Prober returns a Prober that asks through the address that a question of the stream would
// have.
func (c *Chooser) Prober(next worker.Prober) worker.Prober { return prober{next, c} }

type prober struct {
	worker.Prober

	chooser *Chooser
}

// Probe implements worker.Prober.
func (p prober) Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult {
	return p.Prober.Probe(request.WithEgress(ctx, p.chooser.current(url, request.Egress(ctx))), url)
}

func (c *Chooser) current(url monitor.StreamURL, preferred string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool(url.Source()).Current(time.Now(), url, preferred)
}

// logNotices logs what has changed. c.mu is held, so that the lines are in order.
func (c *Chooser) logNotices(source monitor.SourceName, notices []egress.Notice) {
	for _, n := range notices {
		switch log := c.log.With("source", source, "egress", n.Address); n.Kind {
		case egress.Rests:
			log.Warn("An egress address fails repeatedly and rests; streams of that source move to another one with their next question: check the proxy, or wait",
				"failure", n.Failure, "failures", egress.MaxFailures, "rest_sec", n.Left.Seconds())
		case egress.UsedAgain:
			log.Info("An egress address is used again")
		case egress.AllFail:
			log.Warn("All egress addresses fail, so none of them rests: check this host's network, or what the source refuses",
				"failure", n.Failure)
		case egress.Stretched:
			log.Warn("The budget of questions of an egress address is used up, waiting streams are polled less often: add addresses to EGRESS_PROXIES, or raise EGRESS_QUESTIONS_PER_HOUR",
				"interval_sec", n.Interval.Seconds())
		case egress.StretchedOver:
			log.Info("The budget of questions of an egress address is enough again")
		}
	}
}
