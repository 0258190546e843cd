package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// sends starts a server that answers each request with these bytes, and returns its URL. It closes the connection if the
// bytes end with no "…".
func sends(t *testing.T, answer string) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				var request [4096]byte
				n, _ := conn.Read(request[:])
				text, endless := strings.CutSuffix(answer, "…")
				if !strings.Contains(string(request[:n]), "Icy-MetaData: 0\r\n") {
					text = "HTTP/1.1 400 No\r\n\r\n"
				}
				_, _ = io.WriteString(conn, text)
				if endless {
					_, _ = conn.Read(request[:]) // until the client goes
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String() + "/live"
}

// audioClient returns a client of audio streams.
func audioClient(t *testing.T, change func(*media.Config)) *media.Client {
	t.Helper()
	return newClient(t, func(c *media.Config) {
		c.ICY = true
		if change != nil {
			change(c)
		}
	})
}

func TestAnEndlessResponseIsReadWhateverItsStatusLineIs(t *testing.T) {
	const header = "Content-Type: audio/mpeg\r\nicy-name: Radio\r\n\r\n"
	for answer, want := range map[string]string{
		"HTTP/1.0 200 OK\r\n" + header + "sound":                                                 "200 OK Radio sound",
		"HTTP/1.1 200 OK\r\n" + header + "sound":                                                 "200 OK Radio sound",
		"ICY 200 OK\r\n" + header + "sound":                                                      "200 OK Radio sound",
		"ICY 401 Service Unavailable\r\n" + header:                                               "401 Service Unavailable Radio ",
		"HTTP/1.0 404 File Not Found\r\n" + header + "no":                                        "404 File Not Found Radio no",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + header + "5\r\nsound\r\n0\r\n\r\n": "200 OK Radio sound",
	} {
		resp, err := audioClient(t, nil).Open(withTimeout(t), sends(t, answer))
		if err != nil {
			t.Errorf("%q: %v", answer, err)
			continue
		}
		body := must.Get(io.ReadAll(resp.Body))(t)
		expect.Equal(t, answer, fmt.Sprint(resp.Status, " ", resp.Header.Get("Icy-Name"), " ", string(body)), want)
		must.Do(t, resp.Body.Close())
	}
	for _, answer := range []string{"", "I", "ICY", "ICY \r\n\r\n", "ICE 200 OK\r\n\r\n", "<html>\r\n\r\n"} {
		_, err := audioClient(t, nil).Open(withTimeout(t), sends(t, answer))
		if failure, ok := errors.AsType[*watch.Failure](err); !ok || failure.Kind != watch.FailureNetwork {
			t.Errorf("%q: %v", answer, err)
		}
	}
	if _, err := newClient(t, nil).Open(withTimeout(t), sends(t, "ICY 200 OK\r\n\r\n")); err == nil {
		t.Error("a client of other media accepts the status line of SHOUTcast")
	}
}

func TestAnEndlessResponseIsGivenUp(t *testing.T) {
	read := func(t *testing.T, answer string, change func(*media.Config)) (int, *watch.Failure) {
		resp := must.Get(audioClient(t, change).Open(withTimeout(t), sends(t, "ICY 200 OK\r\n\r\n"+answer)))(t)
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		failure, _ := errors.AsType[*watch.Failure](err)
		return int(n), failure
	}
	if n, f := read(t, "sound…", func(c *media.Config) { c.Stall = 50 * time.Millisecond }); n != 5 || f == nil || !strings.Contains(f.Detail, "nothing came for 50ms") {
		t.Errorf("a stream that stops: %d bytes, %v", n, f)
	}
	if n, f := read(t, strings.Repeat("x", 100<<20)+"…", nil); f == nil || f.Kind != watch.FailureTooLarge || n > 3<<20 || !strings.Contains(f.Detail, "more than 262144 bytes a second") {
		t.Errorf("a stream that is too fast: %d bytes, %v", n, f)
	}
	drips := serve(t, func(w http.ResponseWriter, r *http.Request) {
		httpfault.Drip(1, 20*time.Millisecond)(w, r, with(httpfault.Zeros(1000)))
	})
	slow := must.Get(audioClient(t, func(c *media.Config) { c.Stall, c.MinRate = 200*time.Millisecond, 1000 }).Open(withTimeout(t), drips))(t)
	if n, err := io.Copy(io.Discard, slow.Body); n > 500 || err == nil || !strings.Contains(err.Error(), "too slowly: fewer than 1000 bytes a second") {
		t.Errorf("a stream that is too slow: %d bytes, %v", n, err)
	}
	must.Do(t, slow.Body.Close())
	if n, f := read(t, strings.Repeat("x", 2<<20), nil); f != nil || n != 2<<20 {
		t.Errorf("what comes at once, up to its limit: %d bytes, %v", n, f)
	}
	// Total limits the wait for the header alone.
	ctx, cancel := context.WithCancel(t.Context())
	resp := must.Get(audioClient(t, func(c *media.Config) { c.Total = 100 * time.Millisecond }).Open(ctx, sends(t, "ICY 200 OK\r\n\r\nsound…")))(t)
	time.AfterFunc(300*time.Millisecond, cancel)
	began := time.Now()
	n, err := io.Copy(io.Discard, resp.Body)
	if took := time.Since(began); n != 5 || err == nil || took < 200*time.Millisecond {
		t.Errorf("after %v: %d bytes, %v", took, n, err)
	}
	must.Do(t, resp.Body.Close())
}

// However long a stream has kept its pace, no more than a burst comes at once.
func TestAPaceAllowsABurstAtAnyTime(t *testing.T) {
	const rate, burst = 1 << 20, 2 << 20
	for name, c := range map[string]struct {
		seconds []float64 // since the bytes before
		bytes   []int
		allowed bool
	}{
		"a burst":                          {[]float64{0}, []int{burst}, true},
		"more than a burst":                {[]float64{0}, []int{burst + 1}, false},
		"a burst after an hour":            {[]float64{3600}, []int{burst}, true},
		"more than a burst after an hour":  {[]float64{3600}, []int{burst + 1}, false},
		"the rate after a burst":           {[]float64{0, 1, 1, 1}, []int{burst, rate, rate, rate}, true},
		"more than the rate after a burst": {[]float64{0, 1, 1}, []int{burst, rate, rate + 1}, false},
		"a burst once there was a pause":   {[]float64{0, 2}, []int{burst, burst}, true},
		"a burst, and then one too soon":   {[]float64{0, 1}, []int{burst, burst}, false},
	} {
		now := time.Unix(1e9, 0)
		p, allowed := media.NewPace(rate, now), true
		for i, n := range c.bytes {
			now = now.Add(time.Duration(c.seconds[i] * float64(time.Second)))
			allowed = p(n, now)
		}
		expect.Equal(t, name, allowed, c.allowed)
	}
}
