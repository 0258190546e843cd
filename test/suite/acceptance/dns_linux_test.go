package acceptance_test

import (
	"bufio"
	"encoding/json"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/dns"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/netns"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// foregroundWatch is "stream-monitor watch" in a network namespace with a name
// server and YouTube's address, and without a proxy.
type foregroundWatch struct {
	*livestream.Stream
	t       *testing.T
	dns     *dns.Server
	youtube *relay

	mu     sync.Mutex
	events []printedEvent
	log    []system.Line
	ended  chan struct{}
}

// printedEvent is an event in the output of watch --json.
type printedEvent struct {
	Type     string               `json:"event_type"`
	Data     webhookreceiver.Data `json:"data"`
	Received time.Time            `json:"-"`
}

// watchInForeground watches a stream in the foreground, and waits for the first
// check.
func watchInForeground(t *testing.T) *foregroundWatch {
	t.Helper()
	v := newVideoID()
	stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &foregroundWatch{
		Stream: stream, t: t, youtube: newRelay(), ended: make(chan struct{}),
	}
	cmd := exec.Command(binary, "watch", "--json", "--check-interval-sec=2", "--blackout-threshold-sec=6", shared.YouTube.URL(v))
	cmd.Env = shared.Service.Environment(withoutProxy(shared.YouTube.Env()))
	events, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr("142.250.1.1") // the product connects only to public addresses
	namespace, err := netns.Start(cmd, netns.Config{
		Addresses: []netip.Addr{address},
		TCP:       []netip.AddrPort{netip.AddrPortFrom(address, 443)},
		UDP:       []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")},
		Files: map[string]string{
			"/etc/resolv.conf":   "nameserver 127.0.0.1\n",
			"/etc/nsswitch.conf": "hosts: files dns\n",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() {
		for lines := bufio.NewScanner(events); lines.Scan(); {
			e := printedEvent{Received: time.Now()}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("%v: %s", err, lines.Text())
			}
			f.mu.Lock()
			f.events = append(f.events, e)
			f.mu.Unlock()
		}
	})
	readers.Go(func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			l := system.Line{Raw: lines.Text()}
			_ = json.Unmarshal(lines.Bytes(), &l)
			f.mu.Lock()
			f.log = append(f.log, l)
			f.mu.Unlock()
		}
	})
	go func() {
		defer close(f.ended)
		readers.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the command ended with %v", err)
		}
	}()
	t.Cleanup(func() {
		select {
		case <-f.ended:
		default:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			<-f.ended
			kill.Stop()
		}
		if t.Failed() {
			for _, l := range f.log[max(0, len(f.log)-30):] {
				t.Log(l.Raw)
			}
		}
	})
	f.youtube.forwardTo(shared.YouTube.Proxy())
	f.youtube.serveTLS(t, namespace.Listeners[0])
	f.dns = dns.Serve(namespace.Packets[0], map[string]netip.Addr{"youtube.com": address, "googlevideo.com": address})
	t.Cleanup(func() { _ = f.dns.Close() })
	f.waitEvent("stream.started", startTimeout)
	eventually(t, 60*time.Second, "the first check", func() bool { // it is over when the next begins
		return shared.YouTube.Count(youtube.Segment, v) > 1
	})
	return f
}

// withoutProxy returns an environment with empty proxy variables.
func withoutProxy(env []string) (rest []string) {
	for _, line := range env {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasSuffix(strings.ToLower(name), "_proxy") {
			line = name + "="
		}
		rest = append(rest, line)
	}
	return rest
}

// failDNS makes the name server fail, and closes all connections: only a new
// connection needs a name.
func (f *foregroundWatch) failDNS(m dns.Mode) (since time.Time) {
	f.dns.Set(m)
	f.youtube.closeConnections()
	return time.Now()
}

func (f *foregroundWatch) sleepUntil(since time.Time, d time.Duration) {
	sleep(f.t.Context(), time.Until(since.Add(d)))
}

func (f *foregroundWatch) printed() []printedEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

func (f *foregroundWatch) waitEvent(event string, within time.Duration) (found printedEvent) {
	f.t.Helper()
	eventually(f.t, within, event, func() bool {
		all := f.printed()
		i := slices.IndexFunc(all, func(e printedEvent) bool { return e.Type == event })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// logLines returns how often a message was logged, and its last line.
func (f *foregroundWatch) logLines(message string) (times int, last system.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.log {
		if l.Message == message {
			times, last = times+1, l
		}
	}
	return times, last
}

// assertBlackoutCycle makes the stream black and back, and checks both events.
func (f *foregroundWatch) assertBlackoutCycle() {
	f.t.Helper()
	black := f.Black(true)
	assertAfter(f.t, "black: started_at", f.waitEvent(blackoutAlert, 60*time.Second).Data.StartedAt, black, 0)
	picture := f.Black(false)
	assertAfter(f.t, "black: recovered_at", f.waitEvent(blackoutRecovered, 60*time.Second).Data.RecoveredAt, picture, 0)
}

// endAndAssert ends the stream. The command must exit with status 0, and its
// events must be the start, these, and the end.
func (f *foregroundWatch) endAndAssert(events ...string) {
	f.t.Helper()
	f.End()
	f.waitEvent("stream.ended", 60*time.Second)
	select {
	case <-f.ended:
	case <-timeoutContext(f.t, 20*time.Second).Done():
		f.t.Error("the command does not exit")
	}
	var got []string
	for _, e := range f.printed() {
		got = append(got, e.Type)
	}
	if want := slices.Concat([]string{"stream.started"}, events, []string{"stream.ended"}); !slices.Equal(got, want) {
		f.t.Errorf("events %v, want %v", got, want)
	}
}

func TestALongSilenceOfTheNameServerIsNoOutageOfTheStream(t *testing.T) { // section 7.2, decision S6
	runOutageTimeline(t, 1, 150*time.Second)
	assertNoDNSOutageAlert(t, dns.Silent)
}

func TestALongFailureOfTheNameServerIsNoOutageOfTheStream(t *testing.T) { // section 7.2, decision S6
	runOutageTimeline(t, 1, 150*time.Second)
	assertNoDNSOutageAlert(t, dns.Failing)
}

// assertNoDNSOutageAlert makes every name unresolvable for 90 s.
func assertNoDNSOutageAlert(t *testing.T, mode dns.Mode) {
	t.Helper()
	f := watchInForeground(t)
	since := f.failDNS(mode)
	f.sleepUntil(since, 90*time.Second)
	if all := f.printed(); len(all) != 1 {
		t.Errorf("events before the stream was known to be live: %+v", all[1:])
	}
	// A silent name server answers the pending question only when it is back.
	eventually(t, 0, "the log says that the stream's state could not be learned", func() bool {
		n, _ := f.logLines("The stream's state could not be learned; the worker asks again")
		return n > 0 || mode != dns.Failing
	})
	f.dns.Set(dns.Answering)
	eventually(t, 60*time.Second, "the media are back", func() bool {
		n, _ := f.logLines("The stream's media are back")
		return n > 0
	})
	f.assertBlackoutCycle()
	f.endAndAssert(blackoutAlert, blackoutRecovered)
}

func TestAShortSilenceOfTheNameServerHidesNoBlackout(t *testing.T) { // sections 6.6 and 7.2
	runTimeline(t, 1, 90*time.Second)
	f := watchInForeground(t)
	since := f.failDNS(dns.Silent)
	f.sleepUntil(since, 25*time.Second)
	black := f.Black(true) // while the media cannot be read
	f.sleepUntil(since, 30*time.Second)
	f.dns.Set(dns.Answering)
	assertAfter(t, "black: started_at", f.waitEvent(blackoutAlert, 45*time.Second).Data.StartedAt, black, 0)
	f.Black(false)
	f.waitEvent(blackoutRecovered, 30*time.Second)
	if n, line := f.logLines("The stream's media could not be read"); n == 0 || !strings.Contains(line.Raw, "googlevideo.com") {
		t.Errorf("the log reports it %d times: %s", n, line.Raw)
	}
	f.endAndAssert(blackoutAlert, blackoutRecovered)
}

func TestAnOpenConnectionNeedsNoNameServer(t *testing.T) {
	runTimeline(t, 1, 45*time.Second)
	f := watchInForeground(t)
	f.dns.Set(dns.Failing)
	f.assertBlackoutCycle()
	f.endAndAssert(blackoutAlert, blackoutRecovered)
}
