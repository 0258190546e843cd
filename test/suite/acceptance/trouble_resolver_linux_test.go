package acceptance_test

import (
	"bufio"
	"context"
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

// foreground is "stream-monitor watch" on a network of its own, on which there
// are a name server and YouTube's address, and no proxy.
type foreground struct {
	*livestream.Stream
	t       *testing.T
	names   *dns.Server
	youtube *gate

	mu     sync.Mutex
	events []printed
	log    []system.Line
	ended  chan struct{}
}

// printed is an event as watch --json prints it.
type printed struct {
	Type     string               `json:"event_type"`
	Data     webhookreceiver.Data `json:"data"`
	Received time.Time            `json:"-"`
}

// watching has a stream watched in the foreground, and waits for its start.
func watching(t *testing.T) *foreground {
	t.Helper()
	v := video()
	stream, err := common.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &foreground{
		Stream: stream, t: t, youtube: newGate(), ended: make(chan struct{}),
	}
	cmd := exec.Command(binary, "watch", "--json", "--check-interval-sec=2", "--blackout-threshold-sec=6", common.YouTube.URL(v))
	cmd.Env = common.Service.Environment(unproxied(common.YouTube.Env()))
	events, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr("142.250.1.1") // the product connects to public addresses only
	space, err := netns.Start(cmd, netns.Config{
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
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(events); lines.Scan(); {
			e := printed{Received: time.Now()}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("%v: %s", err, lines.Text())
			}
			f.mu.Lock()
			f.events = append(f.events, e)
			f.mu.Unlock()
		}
	})
	reading.Go(func() {
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
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the watch ends with %v", err)
		}
	}()
	t.Cleanup(func() {
		select {
		case <-f.ended:
		default:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-f.ended
		}
		if t.Failed() {
			for _, l := range f.log[max(0, len(f.log)-30):] {
				t.Log(l.Raw)
			}
		}
	})
	f.youtube.leads(common.YouTube.Proxy())
	f.youtube.serveTLS(t, space.Listeners[0])
	f.names = dns.Serve(space.Packets[0], map[string]netip.Addr{"youtube.com": address, "googlevideo.com": address})
	t.Cleanup(func() { _ = f.names.Close() })
	f.arrives("stream.started", 60*time.Second)
	eventually(t, 60*time.Second, "a first check", func() bool { // it is over when the next begins
		return common.YouTube.Count(youtube.Segment, v) > 1
	})
	return f
}

// unproxied is an environment without the proxies that it names.
func unproxied(env []string) (rest []string) {
	for _, line := range env {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasSuffix(strings.ToLower(name), "_proxy") {
			line = name + "="
		}
		rest = append(rest, line)
	}
	return rest
}

// gone has the name server stop answering, and cuts what is connected; a stream
// that needs no new connection needs no names.
func (f *foreground) gone(m dns.Mode) (since time.Time) {
	f.names.Set(m)
	f.youtube.cut()
	return time.Now()
}

func (f *foreground) lasts(since time.Time, d time.Duration) {
	pause(f.t.Context(), time.Until(since.Add(d)))
}

func (f *foreground) printed() []printed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

func (f *foreground) arrives(event string, within time.Duration) (found printed) {
	f.t.Helper()
	eventually(f.t, within, event, func() bool {
		all := f.printed()
		i := slices.IndexFunc(all, func(e printed) bool { return e.Type == event })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// logged is how often a message has been logged, and its last line.
func (f *foreground) logged(message string) (times int, last system.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.log {
		if l.Message == message {
			times, last = times+1, l
		}
	}
	return times, last
}

// blackout is show's.
func (f *foreground) blackout() {
	f.t.Helper()
	black := f.Black(true)
	within(f.t, "black: started_at", f.arrives(blackout, 60*time.Second).Data.StartedAt, black, 0)
	picture := f.Black(false)
	within(f.t, "black: recovered_at", f.arrives(recovered, 60*time.Second).Data.RecoveredAt, picture, 0)
}

// ends ends the stream: the watch ends well, and these events have been all.
func (f *foreground) ends(events ...string) {
	f.t.Helper()
	f.End()
	f.arrives("stream.ended", 60*time.Second)
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-f.ended:
	case <-ctx.Done():
		f.t.Error("the watch does not end")
	}
	var got []string
	for _, e := range f.printed() {
		got = append(got, e.Type)
	}
	if want := slices.Concat([]string{"stream.started"}, events, []string{"stream.ended"}); !slices.Equal(got, want) {
		f.t.Errorf("events %v, want %v", got, want)
	}
}

func TestTroubleWithANameServerThatIsSilentForTooLong(t *testing.T) { // 7.2, S6
	t.Parallel()
	nameless(t, dns.Silent)
}

func TestTroubleWithANameServerThatFailsForTooLong(t *testing.T) { // 7.2, S6
	t.Parallel()
	nameless(t, dns.Failing)
}

// nameless has no name found for a minute and a half.
func nameless(t *testing.T, mode dns.Mode) {
	t.Helper()
	f := watching(t)
	began := f.gone(mode)
	f.lasts(began, 90*time.Second)
	if all := f.printed(); len(all) != 1 {
		t.Errorf("events while nobody could say that the stream is live: %+v", all[1:])
	}
	// A question put to silence is answered when there is an answer again.
	if n, _ := f.logged("The stream's state could not be learned"); n == 0 && mode == dns.Failing {
		t.Error("the log does not say that the stream's state could not be learned")
	}
	f.names.Set(dns.Answering)
	e := f.arrives(broke, 60*time.Second)
	took := e.Received.Sub(began)
	t.Logf("told after %s: %s since %s, for %.0f s: %s", took.Round(time.Second), e.Data.Failure,
		e.Data.StartedAt.Sub(began).Round(time.Millisecond), e.Data.DurationSec, e.Data.LastError)
	near(t, "started_at", e.Data.StartedAt, began, 5*time.Second)
	if e.Data.Failure != "manifest" || e.Data.DurationSec < 85 || e.Data.ThresholdSec != 60 || !strings.Contains(e.Data.LastError, "lookup manifest.googlevideo.com") {
		t.Errorf("the alert says %+v", e.Data)
	}
	f.blackout()
	f.ends(broke, blackout, recovered)
}

func TestTroubleWithANameServerThatIsSilentForAWhile(t *testing.T) { // 7.2, 6.6
	t.Parallel()
	f := watching(t)
	began := f.gone(dns.Silent)
	f.lasts(began, 25*time.Second)
	black := f.Black(true) // which nobody can see
	f.lasts(began, 30*time.Second)
	f.names.Set(dns.Answering)
	within(t, "black: started_at", f.arrives(blackout, 45*time.Second).Data.StartedAt, black, 0)
	f.Black(false)
	f.arrives(recovered, 30*time.Second)
	if n, line := f.logged("The stream's media could not be read"); n == 0 || !strings.Contains(line.Raw, "googlevideo.com") {
		t.Errorf("what the log says of it, %d times: %s", n, line.Raw)
	}
	f.ends(blackout, recovered)
}

func TestTroubleWithANameServerThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	f := watching(t)
	f.names.Set(dns.Failing)
	f.blackout()
	f.ends(blackout, recovered)
}
