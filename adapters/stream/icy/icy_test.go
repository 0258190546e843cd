package icy_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/stream/icy"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var (
	_ worker.Media    = (*icy.Receiver)(nil)
	_ worker.Resolver = icy.Resolver{}
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mount  = "http://radio.example:8000/live"
	stream = monitor.StreamURL("icy+" + mount)
)

// mp3Frame is a frame of MP3 with 128 kbit/s and 48 kHz: 384 bytes and 24 ms.
var mp3Frame = append([]byte{0xff, 0xfb, 0x94, 0x00}, make([]byte, 380)...)

// aacFrame is an ADTS frame of 100 bytes and 64 ms, at 16 kHz.
var aacFrame = append([]byte{0xff, 0xf1, 0x60, 0x40, 0x0c, 0x9f, 0xfc}, make([]byte, 93)...)

// station is a server that sends frames of 24 ms at their own pace, in virtual time.
type station struct {
	status  int           // 0: 200
	reason  string        // of the status line; empty: the usual one
	server  string        // what it calls itself
	burst   time.Duration // of media at once
	ends    time.Duration // after so long the server closes the connection; 0: never
	fails   error         // of the request
	quiet   time.Duration // before the first byte
	pause   time.Duration // after 10 s of media, which then come at their own pace again
	body    io.Reader     // in place of sound
	kind    string        // Content-Type
	titles  string        // icy-metaint; empty: none are sent
	counted bool          // each frame has its number in its first bytes
	opened  atomic.Int32
	closed  atomic.Int32
	address string
	header  *watch.RequestHeader
}

// Open is stream.Open.
func (s *station) Open(ctx context.Context, url string) (*http.Response, error) {
	s.opened.Add(1)
	s.address, s.header = url, request.Header(ctx)
	if s.fails != nil {
		return nil, s.fails
	}
	code := max(s.status, http.StatusOK)
	if s.status == 0 {
		code = http.StatusOK
	}
	reason := s.reason
	if reason == "" {
		reason = http.StatusText(code)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, reason),
		Header:  http.Header{"Content-Type": {s.kind}, "Icy-Name": {"Example\tRadio"}, "Icy-Br": {"128"}, "Icy-Metaint": {s.titles}, "Server": {s.server}},
		Request: req,
	}
	var body io.Reader = &sound{ctx: ctx, station: s, began: time.Now().Add(s.quiet - s.burst), end: time.Now().Add(s.ends)}
	if s.body != nil {
		body = s.body
	}
	if b, ok := body.(*steps); ok {
		b.ctx = ctx
	}
	resp.Body = closing{body, &s.closed}
	return resp, nil
}

type closing struct {
	io.Reader

	closed *atomic.Int32
}

func (c closing) Close() error { c.closed.Add(1); return nil }

// sound yields one frame at a time.
type sound struct {
	ctx        context.Context
	station    *station
	began, end time.Time
	frames     int
}

func (s *sound) Read(p []byte) (int, error) {
	if s.frames == 417 {
		s.began = s.began.Add(s.station.pause)
	}
	at := s.began.Add(time.Duration(s.frames+1) * 24 * time.Millisecond)
	if s.station.ends > 0 && at.After(s.end) {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Until(at)):
	case <-s.ctx.Done():
		return 0, watch.NewFailure(watch.FailureNetwork, "stopped")
	}
	frame := mp3Frame
	if s.station.counted {
		frame = bytes.Clone(frame)
		binary.BigEndian.PutUint32(frame[4:], uint32(s.frames))
	}
	s.frames++
	return copy(p, frame), nil
}

// read returns the segments that a reading lists now, or its failure.
func read(t *testing.T, r *icy.Receiver) (segments []watch.Segment, failure string) {
	t.Helper()
	p := r.ReadPlaylist(t.Context(), mount)
	if p.URL != mount {
		t.Errorf("the playlist is of %s", p.URL)
	}
	if p.Failure != nil {
		failure = p.Failure.Error()
	}
	return p.Segments, failure
}

func TestAnEndlessStreamIsListedAsSegmentsOfWholeFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &station{}
		r := icy.NewReceiver(s.Open)
		began := time.Now()
		segments, failure := read(t, r)
		expect.Equal(t, "the failure", failure, "")
		if took := time.Since(began).Round(time.Millisecond); len(segments) != 1 || took != 4008*time.Millisecond {
			t.Fatalf("after %v there are %d segments", took, len(segments))
		}
		first := segments[0]
		expect.Equal(t, "the length of a segment", first.Duration, 4008*time.Millisecond) // 167 frames
		expect.Equal(t, "its end", time.Until(first.End()).Round(time.Millisecond), 0)
		expect.Equal(t, "its container", first.Container, "mp3")
		if body := must.Get(io.ReadAll(must.Get(r.FetchSegment(t.Context(), first))(t)))(t); !bytes.Equal(body, bytes.Repeat(mp3Frame, 167)) {
			t.Errorf("it has %d bytes", len(body))
		}
		time.Sleep(3 * time.Minute)
		segments, _ = read(t, r)
		expect.Equal(t, "the segments that are kept", len(segments), 15)
		for i, s := range segments[1:] {
			if !s.ProgramTime.Equal(segments[i].End()) || s.Same(segments[i]) || s.ID() == segments[i].ID() {
				t.Errorf("segment %d begins at %v, the one before ends at %v", i+1, s.ProgramTime, segments[i].End())
			}
		}
		if _, err := r.FetchSegment(t.Context(), first); err == nil || !strings.Contains(err.Error(), "kept no more") {
			t.Errorf("the first segment after minutes: %v", err)
		}
		expect.Equal(t, "requests", s.opened.Load(), 1)
		r.Close()
		expect.Equal(t, "requests that are closed", s.closed.Load(), 1)
	})
}

func TestTheSecretOfAStreamIsInItsRequestsAlone(t *testing.T) { // decision A1
	synctest.Test(t, func(t *testing.T) {
		s := &station{}
		r := icy.NewReceiver(s.Open)
		defer r.Close()
		ctx := request.WithSecret(t.Context(), monitor.StreamSecret{Query: "?token=abc", Headers: map[string]string{"x-pass": "abc"}})
		asked := func(who string) {
			t.Helper()
			expect.Equal(t, "the URL that "+who+" requests", s.address, mount+"?token=abc")
			expect.Equal(t, "its header field", s.header.For(must.Get(url.Parse(s.address))(t))["x-pass"], "abc")
			s.address, s.header = "", nil
		}
		answer := icy.NewResolver(s.Open).Resolve(ctx, stream)
		asked("the resolver")
		p := r.ReadPlaylist(ctx, mount)
		asked("the receiver")
		if shown := fmt.Sprintf("%+v %+v", answer, p); answer.State != watch.Live || len(p.Segments) != 1 || strings.Contains(shown, "abc") {
			t.Errorf("answered %s", shown)
		}
	})
}

func TestWhatAServerSendsAtOnceIsOlderThanNow(t *testing.T) {
	for _, burst := range []time.Duration{0, 2 * time.Second, 10 * time.Second, 30 * time.Second} {
		t.Run(burst.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &station{burst: burst, counted: true}
				r := icy.NewReceiver(s.Open)
				defer r.Close()
				began := time.Now().Add(-burst) // of the first frame
				for range 10 {
					segments, failure := read(t, r)
					newest := segments[len(segments)-1]
					if late := time.Since(newest.End()); failure != "" || late < -time.Second || late > 9*time.Second {
						t.Errorf("the newest segment ended %v ago; %s", late, failure)
					}
					if !slices.IsSortedFunc(segments, func(a, b watch.Segment) int { return a.ProgramTime.Compare(b.ProgramTime) }) {
						t.Errorf("the segments are not in order: %v", segments)
					}
					for i, next := range segments[1:] {
						if next.Same(segments[i]) {
							t.Error("two segments look like one")
						}
					}
					for _, segment := range segments {
						body := must.Get(io.ReadAll(must.Get(r.FetchSegment(t.Context(), segment))(t)))(t)
						plays := began.Add(time.Duration(binary.BigEndian.Uint32(body[4:])) * 24 * time.Millisecond)
						if shifted := segment.ProgramTime.Sub(plays); shifted.Abs() > 100*time.Millisecond {
							t.Errorf("a segment is %v off", shifted)
						}
					}
					time.Sleep(2 * time.Second)
				}
			})
		})
	}
}

func TestMediaAfterAPauseAreNotJoinedToThoseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &station{pause: 8 * time.Second}
		r := icy.NewReceiver(s.Open)
		defer r.Close()
		read(t, r)
		time.Sleep(30 * time.Second)
		segments, _ := read(t, r)
		gaps := 0
		for i, next := range segments[1:] {
			if next.ProgramTime.Sub(segments[i].End()) > 7*time.Second {
				gaps++
			}
		}
		late := time.Since(segments[len(segments)-1].End())
		if gaps != 1 || late < 0 || late > 5*time.Second {
			t.Errorf("%d gaps; the newest segment ended %v ago", gaps, late)
		}
	})
}

func TestARequestThatEndsIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &station{ends: 20 * time.Second, burst: 4 * time.Second}
		r := icy.NewReceiver(s.Open)
		defer r.Close()
		read(t, r)
		time.Sleep(50 * time.Second)
		segments, failure := read(t, r)
		expect.Equal(t, "the failure", failure, "")
		expect.Equal(t, "requests", s.opened.Load(), 3)
		if late := time.Since(segments[len(segments)-1].End()); late > 9*time.Second {
			t.Errorf("the newest segment ended %v ago", late)
		}
	})
	t.Run("but not again and again, if it has hardly begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &station{ends: 5 * time.Second}
			r := icy.NewReceiver(s.Open)
			defer r.Close()
			read(t, r)
			time.Sleep(60 * time.Second)
			expect.Equal(t, "requests", s.opened.Load(), 1)
			_, failure := read(t, r)
			expect.Equal(t, "the failure of the next reading, which has had a segment", failure, "")
			expect.Equal(t, "requests", s.opened.Load(), 2)
		})
	})
	t.Run("a mount that is gone is a failure at each reading, until it is back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &station{}
			r := icy.NewReceiver(s.Open)
			defer r.Close()
			for i, c := range []struct {
				station *station
				failure string
			}{
				{&station{status: 404}, "network: radio.example:8000: answered 404 Not Found: nobody feeds the mount now"},
				{&station{status: 401, reason: "Service Unavailable"}, "network: radio.example:8000: answered 401 Service Unavailable: nobody feeds the mount now"},
				{&station{status: 401}, "denied: radio.example:8000: answered 401 Unauthorized: the server wants credentials, and the stream has none"},
				{&station{status: 403}, "network: radio.example:8000: answered 403 Forbidden"},
				{&station{status: 500}, "network: radio.example:8000: answered 500 Internal Server Error"},
				{&station{fails: watch.NewFailure(watch.FailureNetwork, "radio.example cannot be reached")}, "network: radio.example cannot be reached"},
				{&station{body: strings.NewReader("<html>")}, "network: radio.example:8000: ended the stream"},
				{&station{body: strings.NewReader(strings.Repeat("<html>", 20000))}, "undecodable: neither MP3, AAC (ADTS), nor Vorbis, Opus or FLAC in Ogg: no sound in 65536 bytes"},
				{&station{quiet: time.Minute}, "network: radio.example:8000: no 4s of sound came within 15s"},
			} {
				s := c.station
				r := icy.NewReceiver(s.Open)
				_, failure := read(t, r)
				expect.Equal(t, fmt.Sprint("failure ", i), failure, c.failure)
				r.Close()
			}
			s.status = 404
			read(t, r)
			s.status = 0
			segments, failure := read(t, r)
			if failure != "" || len(segments) != 1 {
				t.Errorf("after its return: %d segments, %s", len(segments), failure)
			}
		})
	})
}

func TestAReceiverEndsWithItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &station{quiet: time.Hour}
		r := icy.NewReceiver(s.Open)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		r.ReadPlaylist(ctx, mount)
		expect.Equal(t, "how long a cancelled reading takes", time.Since(began), time.Second)
		r.Close()
		expect.Equal(t, "requests that are closed", s.closed.Load(), 1)
		if _, failure := read(t, r); failure == "" {
			t.Error("it reads after Close")
		}
		r.Close()
	})
}

func TestTheStateOfAMountFollowsFromItsAnswer(t *testing.T) {
	noise := func(b []byte, n int) io.Reader {
		return io.MultiReader(strings.NewReader("ID3\x04garbage\xff"), bytes.NewReader(bytes.Repeat(b, n)))
	}
	for name, c := range map[string]struct {
		station *station
		state   watch.StreamState
		detail  string
	}{
		"MP3":                     {&station{}, watch.Live, ""},
		"MP3 after a tag":         {&station{body: noise(mp3Frame, 9)}, watch.Live, ""},
		"AAC":                     {&station{body: noise(aacFrame, 9)}, watch.Live, ""},
		"no encoder":              {&station{status: 404}, watch.Upcoming, "radio.example:8000: answered 404 Not Found: nobody feeds the mount now"},
		"no encoder at SHOUTcast": {&station{status: 401, reason: "Service Unavailable"}, watch.Upcoming, "nobody feeds the mount now"},
		"no room":                 {&station{status: 403}, watch.Upcoming, "answered 403"},
		"too often":               {&station{status: 429}, watch.RateLimited, "answered 429"},
		"a broken server":         {&station{status: 503}, watch.Upcoming, "answered 503"},
		"no server":               {&station{fails: watch.NewFailure(watch.FailureNetwork, "radio.example cannot be reached")}, watch.Unreachable, "radio.example cannot be reached"},
		"a page":                  {&station{body: strings.NewReader("<html>"), kind: "text/html; charset=utf-8"}, watch.NotALiveStream, "radio.example:8000 sends text/html and neither MP3, AAC (ADTS), nor Vorbis, Opus or FLAC in Ogg; expected is the stream itself"},
		"a playlist":              {&station{body: strings.NewReader("[playlist]\nFile1=http://x/"), kind: "audio/x-scpls"}, watch.NotALiveStream, "sends audio/x-scpls"},
		"nothing":                 {&station{body: strings.NewReader("")}, watch.Upcoming, "ended the stream before it began"},
		"Ogg of another codec":    {&station{body: strings.NewReader(oggPage(1, 0, 2, 0, "Speex   1.2") + oggPage(1, 1, 0, 0, "more")), kind: "application/ogg"}, watch.NotALiveStream, "sends application/ogg: undecodable: Ogg with a codec that is none of Vorbis, Opus and FLAC: it begins with \"Speex   \""},
		"broken Ogg":              {&station{body: strings.NewReader("OggS" + strings.Repeat("x", 70000)), kind: "application/ogg"}, watch.NotALiveStream, "sends application/ogg"},
		"too fast":                {&station{body: failing{watch.NewFailure(watch.FailureTooLarge, "too fast")}}, watch.NotALiveStream, "too fast"},
		"a broken connection":     {&station{body: failing{watch.NewFailure(watch.FailureNetwork, "broken")}}, watch.Unreachable, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.station
				got := icy.NewResolver(s.Open).Resolve(t.Context(), stream)
				if got.State != c.state || !strings.Contains(got.Detail, c.detail) || got.Source != "icy" {
					t.Errorf("got %+v", got)
				}
				if c.state == watch.Live {
					expect.Equal(t, "the rendition", got.Renditions, []watch.Rendition{{URL: mount, Bandwidth: 128000, HasAudio: true}})
					expect.Equal(t, "the title", got.Title, "Example Radio")
				}
				if s.fails == nil && s.closed.Load() != 1 {
					t.Error("the request is not closed")
				}
			})
		})
	}
}

func TestARefusalByAMountIsOneOfItsBroadcaster(t *testing.T) { // sections 5.6 and 5.7
	token, key := monitor.StreamSecret{Query: "?token=s3cr3t"}, monitor.StreamSecret{Headers: map[string]string{"authorization": "s3cr3t"}}
	for name, c := range map[string]struct {
		station *station
		secret  monitor.StreamSecret
		want    watch.StreamState
		says    string
	}{
		"401":                              {&station{status: 401}, monitor.StreamSecret{}, watch.Denied, "wants credentials, and the stream has none"},
		"401 of a token":                   {&station{status: 401}, token, watch.Denied, "answered 401 Unauthorized: the server refuses the credentials"},
		"401 of SHOUTcast without encoder": {&station{status: 401, reason: "Service Unavailable"}, token, watch.Upcoming, "nobody feeds the mount"},
		"403, without credentials":         {&station{status: 403}, monitor.StreamSecret{}, watch.Upcoming, "answered 403"},
		"403 of a token":                   {&station{status: 403, server: "nginx"}, token, watch.Denied, "refuses the credentials"},
		"403 of a header field":            {&station{status: 403, server: "nginx"}, key, watch.Denied, "refuses the credentials"},
		"403 of Icecast, which is full":    {&station{status: 403, server: "Icecast 2.4.4"}, token, watch.Upcoming, "answered 403"},
		"410":                              {&station{status: 410}, key, watch.Upcoming, "nobody feeds the mount"},
		"410 of a token":                   {&station{status: 410}, token, watch.Denied, "refuses the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := request.WithSecret(t.Context(), c.secret)
			got := icy.NewResolver(c.station.Open).Resolve(ctx, stream)
			r := icy.NewReceiver(c.station.Open)
			defer r.Close()
			failure := r.ReadPlaylist(ctx, mount).Failure
			if got.State != c.want || !strings.Contains(got.Detail, c.says) || strings.Contains(got.Detail, "s3cr3t") ||
				failure == nil || failure.Detail != got.Detail || (failure.Kind == watch.FailureDenied) != (c.want == watch.Denied) {
				t.Errorf("the question is answered %+v, the reading failed with %v", got, failure)
			}
		})
	}
}

// A server that is down is the broadcaster's. The requests of this test are real ones.
func TestAServerThatIsDownSaysSo(t *testing.T) { // section 5.6
	client := media.New(media.Config{ICY: true, AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer client.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	resetting, ending := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { httpfault.Reset()(w, r, nil) })),
		httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { httpfault.HangUp()(w, r, nil) }))
	defer resetting.Close()
	defer ending.Close()
	for address, says := range map[string]string{
		closed.URL: "refuses the connection", resetting.URL: "broke the connection", ending.URL: "closed the connection without an answer",
	} {
		got := icy.NewResolver(client.Open).Resolve(t.Context(), monitor.StreamURL("icy+"+address+"/live"))
		if got.State != watch.ServerDown || !strings.Contains(got.Detail, says) {
			t.Errorf("got %+v, want that it says %q", got, says)
		}
	}
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Whatever lies between frames, and wherever the bytes are split, the segments have the frames and nothing else.
func TestSegmentsHaveFramesAlone(t *testing.T) {
	dirty, clean := append([]byte{0xff, 0xfb, 0x94, 0x00}, make([]byte, 100)...), []byte(nil) // looks like a frame, but none follows
	for i := range 500 {
		dirty, clean = append(dirty, mp3Frame...), append(clean, mp3Frame...)
		if i%100 == 50 {
			dirty = append(dirty, bytes.Repeat([]byte{0xff, 0xfb, 0x00}, i)...)
		}
	}
	for _, step := range []int{1, 7, 384, 385, 4096} {
		synctest.Test(t, func(t *testing.T) {
			s := &station{body: &steps{rest: dirty, step: step, pace: 10 * time.Second / time.Duration(len(dirty))}}
			r := icy.NewReceiver(s.Open)
			defer r.Close()
			segments, failure := read(t, r)
			if len(segments) == 0 {
				t.Fatal(failure)
			}
			body := must.Get(io.ReadAll(must.Get(r.FetchSegment(t.Context(), segments[0]))(t)))(t)
			if !bytes.Equal(body, clean[:167*384]) {
				t.Errorf("in steps of %d bytes the first segment has %d bytes", step, len(body))
			}
		})
	}
}

// A mount may go on with another one, whose sound is of another rate. If it is of another codec, the request is made again.
func TestAMountGoesOnWithAnother(t *testing.T) {
	other := append([]byte{0xff, 0xfb, 0x50, 0xc0}, make([]byte, 204)...) // 64 kbit/s and 44.1 kHz: 208 bytes and 26 ms
	first := append(bytes.Repeat(mp3Frame, 200), mp3Frame[:100]...)
	_, lengths, err := icy.Cut(append(bytes.Clone(first), bytes.Repeat(other, 300)...), 1000)
	expect.Equal(t, "the segments", fmt.Sprint(lengths, err), "[4.008s 4.002938656s 4.022856992s] <nil>")
	_, lengths, err = icy.Cut(append(bytes.Clone(first), bytes.Repeat(aacFrame, 1000)...), 1000)
	if len(lengths) != 1 || err == nil {
		t.Errorf("with AAC after MP3: %v, %v", lengths, err)
	}
}

// Titles come every 1000 bytes; those of 0 and of 2 units of 16 bytes take turns.
func TestTitlesThatNobodyAskedForAreLeftOut(t *testing.T) {
	clean := bytes.Repeat(mp3Frame, 500)
	var sent []byte
	for i, part := range slices.Collect(slices.Chunk(clean, 1000)) {
		sent = append(sent, part...)
		if i%2 == 0 {
			sent = append(sent, 0)
		} else {
			sent = append(append(sent, 2), "StreamTitle='\xff\xfb\x94\x00 the song';\x00\x00\x00\x00"...)
		}
	}
	for _, step := range []int{1, 999, 1001, 4096} {
		synctest.Test(t, func(t *testing.T) {
			s := &station{titles: "1000", body: &steps{rest: bytes.Clone(sent), step: step, pace: 10 * time.Second / time.Duration(len(sent))}}
			r := icy.NewReceiver(s.Open)
			defer r.Close()
			segments, failure := read(t, r)
			if len(segments) == 0 {
				t.Fatal(failure)
			}
			body := must.Get(io.ReadAll(must.Get(r.FetchSegment(t.Context(), segments[0]))(t)))(t)
			if !bytes.Equal(body, clean[:167*384]) {
				t.Errorf("in steps of %d bytes the first segment has %d bytes", step, len(body))
			}
		})
	}
	cut := icy.NewResolver((&station{titles: "384", body: strings.NewReader(string(mp3Frame) + "\x02short")}).Open).Resolve(t.Context(), stream)
	expect.Equal(t, "the state of a stream that ends in a title", cut.State, watch.NotALiveStream)
}

// steps yields some bytes at a time, and then nothing.
type steps struct {
	ctx  context.Context
	rest []byte
	step int
	pace time.Duration // of a byte
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		<-s.ctx.Done()
		return 0, io.EOF
	}
	n := copy(p[:min(s.step, len(p))], s.rest)
	time.Sleep(time.Duration(n) * s.pace)
	s.rest = s.rest[n:]
	return n, nil
}

func FuzzALookEndsWhateverIsSent(f *testing.F) {
	for _, seed := range [][]byte{nil, mp3Frame, bytes.Repeat(aacFrame, 4), []byte("OggS"), []byte(oggPage(1, 0, 2, 0, "OpusHead") + oggPage(1, 1, 0, 9, "x")), bytes.Repeat([]byte{0xff}, 100), bytes.Repeat([]byte{0xff, 0xf1, 0x60, 0x43, 0xff, 0xff, 0xff}, 20)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := &station{body: bytes.NewReader(sent)}
		if r := icy.NewResolver(s.Open).Resolve(t.Context(), stream); r.State != watch.Live && r.Detail == "" {
			t.Errorf("got %+v", r)
		}
	})
}
