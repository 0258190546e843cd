package youtube_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

func TestTheURLsThatYtdlpFindsLeadToTheScriptedPicture(t *testing.T) {
	y, stream := startServer(t)
	stream.Black(true)
	y.Broadcast(id, stream)
	client := newClient(t, y)

	found := ytdlp(t, y)
	media := between(t, found.stdout, `"url": "`, `"`)
	if !strings.HasPrefix(media, "https://manifest.googlevideo.com/api/manifest/hls_playlist/expire/") {
		t.Fatalf("the first format is at %s", media)
	}
	lines := playlist(t, client, media)
	segment := lines[len(lines)-1]
	if !strings.HasPrefix(segment, "https://rr1---") || !strings.HasSuffix(segment, "/file/seg.ts") {
		t.Fatalf("the newest segment is at %s", segment)
	}

	t.Run("a segment has the scripted picture", func(t *testing.T) {
		// A segment with the black picture appears within two segment durations.
		deadline := time.Now().Add(time.Minute)
		for {
			lines := playlist(t, client, media)
			status, body := get(t, client, lines[len(lines)-1])
			if status != 200 {
				t.Fatalf("status %d", status)
			}
			cmd := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-f", "mpegts", "-i", "pipe:0", "-vf", "blackdetect=d=0.1:pix_th=0.10", "-an", "-f", "null", "-")
			cmd.Stdin = strings.NewReader(body)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(string(out), "black_start") {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("ffmpeg found no black in\n%s", out)
			}
			wait(t, 200*time.Millisecond)
		}
	})
	t.Run("URLs from before ExpireNow answer 403, later ones do not", func(t *testing.T) {
		y.ExpireNow(id)
		for _, u := range []string{media, segment} {
			if status, _ := get(t, client, u); status != http.StatusForbidden {
				t.Errorf("status %d of %s", status, u)
			}
		}
		playlist(t, client, between(t, ytdlp(t, y).stdout, `"url": "`, `"`))
	})
	t.Run("requests are counted", func(t *testing.T) {
		y.Broadcast("another--id", stream)
		if y.Count(youtube.Watch, id) != 2 || y.Count(youtube.Player, id) < 2 || y.Count(youtube.Manifest, id) < 2 || y.Count(youtube.Segment, id) < 2 || y.Count("", "another--id") != 0 {
			t.Errorf("%+v", y.Requests())
		}
	})
	t.Run("a fault of the stream reaches the client and ends", func(t *testing.T) {
		fresh := between(t, ytdlp(t, y).stdout, `"url": "`, `"`)
		stream.Fail(livestream.Playlists, httpfault.Status(503))
		if status, _ := get(t, client, fresh); status != 503 {
			t.Errorf("status %d", status)
		}
		stream.Heal(livestream.Playlists)
		playlist(t, client, fresh)
	})
}

func TestAnExpiredURLIsRefused(t *testing.T) {
	y, err := youtube.Start(youtube.Config{Expiry: -time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	y.Broadcast(id, startStream(t))
	client := newClient(t, y)
	_, page := get(t, client, y.URL(id))
	if status, _ := get(t, client, between(t, page, `"hlsManifestUrl":"`, `"`)); status != http.StatusForbidden {
		t.Errorf("status %d of an expired URL", status)
	}
}

func TestOEmbedAnswersByState(t *testing.T) {
	y, _ := startServer(t)
	client := newClient(t, y)
	for state, want := range map[youtube.State]int{
		youtube.Live: 200, youtube.Upcoming: 200, youtube.Removed: 404, youtube.Unavailable: 404, youtube.Private: 403,
	} {
		y.Add(id, youtube.Video{State: state})
		status, body := get(t, client, "https://www.youtube.com/oembed?format=json&url="+url.QueryEscape(y.URL(id)))
		if status != want || (want == 200) != strings.Contains(body, `"author_name"`) {
			t.Errorf("%s: %d %s", state, status, body)
		}
	}
	if y.Count(youtube.OEmbed, id) != 5 {
		t.Errorf("%d counted", y.Count(youtube.OEmbed, id))
	}
}

func TestAnInjectedFaultReachesTheClientUntilItIsRemoved(t *testing.T) {
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	y.Add(id, youtube.Video{})
	client := newClient(t, y)
	// fetch gives up when the head takes longer than head, or then the body longer than body.
	fetch := func(head, body time.Duration) (int, int64, error) {
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		limit := time.AfterFunc(head, giveUp)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, y.URL(id), nil)
		if err != nil {
			return 0, 0, err
		}
		resp, err := client.Do(r)
		if err != nil {
			return 0, 0, err
		}
		defer resp.Body.Close()
		limit.Reset(body)
		n, err := io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, n, err
	}
	for name, c := range map[string]struct {
		fault  httpfault.Fault
		status int
		bytes  int64 // -1: any
		err    string
	}{
		"status":      {httpfault.Status(500), 500, -1, ""},
		"retry after": {httpfault.RetryAfter(429, time.Minute), 429, -1, ""},
		"text":        {httpfault.Text("invalid"), 200, 7, ""},
		"zeros":       {httpfault.Zeros(100_000), 200, 100_000, ""},
		"endless":     {httpfault.Endless(100_000), 200, 100_000, ""},
		"lines":       {httpfault.Lines("a\n", 150, "bb\n"), 200, 452, ""},
		"delay":       {httpfault.Delay(time.Millisecond), 200, -1, ""},
		"drip":        {httpfault.Drip(512, time.Millisecond), 200, -1, ""},
		"too slow":    {httpfault.Drip(1, 200*time.Millisecond), 200, -1, "canceled"},
		"hang":        {httpfault.Hang(), 0, 0, "canceled"},
		"truncated":   {httpfault.Truncate(), 200, -1, "unexpected EOF"},
		"reset":       {httpfault.Reset(), 0, 0, "reset"},
		"hung up":     {httpfault.HangUp(), 0, 0, "EOF"},
		"redirect":    {httpfault.Redirect("https://www.youtube.com/oembed"), 404, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			remove := y.Inject(youtube.Watch, id, 0, c.fault)
			head, body := time.Minute, time.Minute
			switch name {
			case "hang":
				head = time.Second
			case "too slow":
				body = time.Second
			}
			status, n, err := fetch(head, body)
			if status != c.status || (c.bytes >= 0 && n != c.bytes) || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
				t.Errorf("status %d, %d bytes, %v", status, n, err)
			}
			remove()
			if status, _, err := fetch(time.Minute, time.Minute); status != 200 || err != nil {
				t.Errorf("status %d after the fault was removed, %v", status, err)
			}
		})
	}
	t.Run("a fault may be limited to a number of requests", func(t *testing.T) {
		y.Inject("", id, 2, httpfault.Status(500))
		for i, want := range []int{500, 500, 200} {
			if status, _, _ := fetch(time.Minute, time.Minute); status != want {
				t.Errorf("request %d: %d", i, status)
			}
		}
	})
	t.Run("a fault does not affect other videos", func(t *testing.T) {
		defer y.Inject(youtube.Watch, "another--id", 0, httpfault.Status(500))()
		if status, _, _ := fetch(time.Minute, time.Minute); status != 200 {
			t.Errorf("status %d", status)
		}
	})
}

func TestOtherHostsAreRefusedAndRecorded(t *testing.T) {
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	client := newClient(t, y)
	for _, u := range []string{"https://example.com/", "http://www.youtube.com/", "https://www.youtube.com:8443/", "https://notyoutube.com/"} {
		if resp, err := client.Get(u); err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s", u, resp.Status)
			}
		}
	}
	if got := strings.Join(y.RefusedHosts(), " "); got != "example.com:443 www.youtube.com www.youtube.com:8443 notyoutube.com:443" {
		t.Errorf("RefusedHosts = %s", got)
	}
}

func startStream(t *testing.T) *livestream.Stream {
	t.Helper()
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// newClient returns an HTTP client that follows the variables of Env.
func newClient(t *testing.T, y *youtube.Server) *http.Client {
	t.Helper()
	env := map[string]string{}
	for _, line := range y.Env() {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	proxy, err := url.Parse(env["HTTPS_PROXY"])
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.ReadFile(env["SSL_CERT_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		t.Fatal("no certificate in SSL_CERT_FILE")
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, u string) (int, string) {
	t.Helper()
	resp, err := c.Get(u)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// playlist returns the URIs in a playlist.
func playlist(t *testing.T, c *http.Client, u string) []string {
	t.Helper()
	status, body := get(t, c, u)
	if status != 200 || !strings.HasPrefix(body, "#EXTM3U\n") {
		t.Fatalf("%d\n%s", status, body)
	}
	var uris []string
	for s := bufio.NewScanner(strings.NewReader(body)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			uris = append(uris, s.Text())
		}
	}
	if len(uris) == 0 {
		t.Fatalf("no URI in\n%s", body)
	}
	return uris
}

// between returns the part of s between before and after.
func between(t *testing.T, s, before, after string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, before)
	if !ok {
		t.Fatalf("no %q", before)
	}
	s, _, _ = strings.Cut(s, after)
	return s
}

// wait waits between two polls.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatal("the test was cancelled")
	}
}
