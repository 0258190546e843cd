package proxies_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const secret = "hunter2"

func parse(t *testing.T, text string) *proxies.List {
	t.Helper()
	return must.Get(proxies.Parse(text))(t)
}

func TestAProxyIsNamedByItsHost(t *testing.T) {
	for text, want := range map[string][]string{
		"": {"default"},
		"http://a.example:3128, https://user:" + secret + "@b.example:443 ,direct":                                                     {"a.example:3128", "b.example:443", "direct"},
		"socks5://c.example:1080,socks5h://[2001:db8::1]:1080/":                                                                        {"c.example:1080", "[2001:db8::1]:1080"},
		"http://one:" + secret + "@g.example:7000,http://two:" + secret + "@g.example:7000,http://three:" + secret + "@g.example:7000": {"g.example:7000", "g.example:7000#2", "g.example:7000#3"},
	} {
		expect.Equal(t, "the names", parse(t, text).Names(), want)
	}
}

func TestAWrongListIsRefusedWithoutShowingIt(t *testing.T) {
	for name, text := range map[string]string{
		"no scheme":         "proxy.example:3128",
		"another scheme":    "ftp://" + secret + "@proxy.example",
		"socks4":            "socks4://user:" + secret + "@proxy.example:1080",
		"no host":           "http://user:" + secret + "@:3128",
		"a path":            "http://proxy.example/" + secret,
		"an empty entry":    "direct,,http://user:" + secret + "@proxy.example:1",
		"not a URL":         "http://user:" + secret + "%zz@proxy.example:1",
		"the same twice":    "http://user:" + secret + "@proxy.example:1,http://user:" + secret + "@proxy.example:1",
		"another direct":    "direct,direct",
		"a misspelt direct": "Direct",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := proxies.Parse(text)
			if err == nil || !strings.Contains(err.Error(), "entry ") || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestRequestsAndToolsUseTheSameProxy(t *testing.T) {
	t.Setenv("NO_PROXY", "internal.example")
	t.Setenv("HTTPS_PROXY", "http://another.example:1")
	t.Setenv("all_proxy", "http://another.example:1")
	t.Setenv("PYTHONPATH", "kept")
	t.Setenv("CALLBACK_URL", "https://another.example/hook")
	l := parse(t, "http://a.example:3128,socks5h://user:"+secret+"@b.example:1080,direct")
	for name, want := range map[string]string{
		"":               "http://a.example:3128",
		"gone":           "http://a.example:3128",
		"a.example:3128": "http://a.example:3128",
		"b.example:1080": "socks5h://user:" + secret + "@b.example:1080",
		"direct":         "",
	} {
		ctx := request.WithEgress(t.Context(), name)
		for _, address := range []string{"https://www.youtube.com/watch", "http://media.example/1.ts"} {
			req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, address, nil))(t)
			got, err := l.Proxy(req)
			if err != nil || got == nil && want != "" || got != nil && got.String() != want {
				t.Errorf("through %q: %s goes through %v, %v", name, address, got, err)
			}
		}
		env := l.Environ(ctx)
		for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			if is := slices.Contains(env, variable+"="+want); is != (want != "") {
				t.Errorf("through %q: %s is in %v: %v", name, variable, env, is)
			}
		}
		if text := strings.Join(env, "\n"); strings.Contains(text, "another.example") || !strings.Contains(text, "PYTHONPATH=kept") || !strings.Contains(text, "NO_PROXY=internal.example") {
			t.Errorf("through %q the environment is %s", name, text)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://internal.example/", nil)
	if got, err := l.Proxy(req); got != nil || err != nil {
		t.Errorf("a host of NO_PROXY goes through %v, %v", got, err)
	}
}

func TestWithoutAListTheEnvironmentDecides(t *testing.T) {
	if env := parse(t, "").Environ(t.Context()); env != nil {
		t.Errorf("a tool gets %v", env)
	}
}

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
		expect.Equal(t, "while it rests, the question leaves through", c.Choose(stream, "a.example:1"), "direct")
		time.Sleep(time.Second)
		fail("direct")
		expect.Equal(t, "while both fail, the question leaves through", c.Choose(stream, "a.example:1"), "a.example:1")
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

func TestAnAddressRestsForTheSourceThatRefusesItAlone(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
	c := proxies.NewChooser(parse(t, "http://a.example:1,direct"), 0, slog.New(slog.DiscardHandler))
	for range egress.MaxFailures {
		c.Record(sourcetest.Stream, "direct", watch.UrgencyPoll, watch.Blocked)
	}
	expect.Equal(t, "a stream of that source leaves through", c.Choose(sourcetest.Stream, "direct"), "a.example:1")
	expect.Equal(t, "a stream of another source leaves through", c.Choose(stream, "direct"), "direct")
	for _, a := range c.Status() {
		if rests := a.RestSec > 0; rests != (a.Name == "direct" && a.Source == sourcetest.Imaginary.Name) || a.Streams > 1 {
			t.Errorf("the status has %+v", a)
		}
	}
}

func TestABudgetIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := proxies.NewChooser(parse(t, ""), 60, slog.New(slog.NewTextHandler(&log, nil)))
		for range 10 {
			c.Record(stream, c.Choose(stream, ""), watch.UrgencyStart, watch.Upcoming)
		}
		expect.Equal(t, "a poll is held back for", c.Delay(stream, ""), 72*time.Second)
		expect.Text(t, "the log", log.String(), "level=WARN msg=\"The budget of questions", "interval_sec=72")
		time.Sleep(2 * time.Hour)
		if delay := c.Delay(stream, ""); delay != 0 || !strings.Contains(log.String(), "is enough again") {
			t.Errorf("a poll is held back for %v; the log is %s", delay, &log)
		}
	})
}

// addressProber tells through which address it was asked.
type addressProber struct{}

func (addressProber) Probe(ctx context.Context, _ monitor.StreamURL) watch.ProbeResult {
	return watch.ProbeResult{Detail: request.Egress(ctx)}
}

func TestAProbeLeavesThroughTheAddressOfTheStream(t *testing.T) {
	c := proxies.NewChooser(parse(t, "http://a.example:1,http://b.example:1"), 0, slog.New(slog.DiscardHandler))
	chosen := c.Choose(stream, "b.example:1")
	if got := c.Prober(addressProber{}).Probe(t.Context(), stream).Detail; got != chosen || got != "b.example:1" {
		t.Errorf("it was asked through %s, the stream uses %s", got, chosen)
	}
}
