package proxies_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ fallback.Egress = (*proxies.Chooser)(nil)

const stream = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")

func TestChangesAreLoggedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := proxies.NewChooser(parse(t, "http://user:"+secret+"@a.example:1,direct"), 0, slog.New(slog.NewTextHandler(&log, nil)))
		fail := func(address string) {
			for range egress.MaxFailures {
				c.Record(stream, address, watch.UrgencyPoll, watch.RateLimited)
			}
		}
		fail("a.example:1")
		if got := c.Choose(stream, "a.example:1"); got != "direct" {
			t.Errorf("while it rests, the question leaves through %s", got)
		}
		time.Sleep(time.Second)
		fail("direct")
		if got := c.Choose(stream, "a.example:1"); got != "a.example:1" {
			t.Errorf("while both fail, the question leaves through %s", got)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{
			"An egress address fails repeatedly and rests", "An egress address is used again", "All egress addresses fail",
		} {
			if i >= len(lines) || !strings.Contains(lines[i], want) {
				t.Fatalf("line %d is not %q:\n%s", i, want, &log)
			}
		}
		if !strings.Contains(lines[0], "egress=a.example:1 failure=rate_limited") || strings.Contains(log.String(), secret) {
			t.Errorf("the log is\n%s", &log)
		}
	})
}

func TestABudgetIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := proxies.NewChooser(parse(t, ""), 60, slog.New(slog.NewTextHandler(&log, nil)))
		for range 10 {
			c.Record(stream, c.Choose(stream, ""), watch.UrgencyStart, watch.Upcoming)
		}
		if delay := c.Delay(stream, ""); delay != 72*time.Second {
			t.Errorf("a poll is held back for %v", delay)
		}
		if !strings.Contains(log.String(), "level=WARN msg=\"The budget of questions") || !strings.Contains(log.String(), "interval_sec=72") {
			t.Errorf("the log is %s", &log)
		}
		time.Sleep(2 * time.Hour)
		if delay := c.Delay(stream, ""); delay != 0 || !strings.Contains(log.String(), "is enough again") {
			t.Errorf("a poll is held back for %v; the log is %s", delay, &log)
		}
	})
}

// addressProber tells through which address it was asked.
type addressProber struct{}

func (addressProber) Probe(ctx context.Context, _ monitor.StreamURL) watch.OEmbedResult {
	return watch.OEmbedResult{Detail: request.Egress(ctx)}
}

func TestOEmbedIsAskedThroughTheAddressOfTheStream(t *testing.T) {
	c := proxies.NewChooser(parse(t, "http://a.example:1,http://b.example:1"), 0, slog.New(slog.DiscardHandler))
	chosen := c.Choose(stream, "b.example:1")
	if got := c.Prober(addressProber{}).Probe(t.Context(), stream).Detail; got != chosen || got != "b.example:1" {
		t.Errorf("it was asked through %s, the stream uses %s", got, chosen)
	}
}
