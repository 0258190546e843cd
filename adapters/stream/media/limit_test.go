package media_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// compress compresses with gzip.
func compress(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(plain)
	must.Do(t, z.Close())
	return b.Bytes()
}

// encoded answers with a body in these content codings, each in a line of its own, without an
// end if again is set.
func encoded(body []byte, again bool, codings ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Encoding"] = codings
		for more := true; more && r.Context().Err() == nil; more = again {
			_, _ = w.Write(body)
		}
	}
}

func TestCompressedBodiesCountDecompressed(t *testing.T) {
	const limit = 4 << 20
	c := newClient(t, func(c *media.Config) { c.MaxSegment, c.Stall = limit, 2*time.Second })
	bomb := func(n int64) string { return serve(t, with(httpfault.Bomb(n))) }
	small := compress(t, make([]byte, 100))

	if got, err := fetch(t, c, watch.Segment{URI: bomb(limit)}); err != nil || len(got) != limit {
		t.Errorf("at the limit: %d bytes, %v", len(got), err)
	}
	if got, err := fetch(t, c, watch.Segment{URI: bomb(limit + 1<<20)}); len(got) > limit {
		t.Errorf("got %d bytes beyond the limit, %v", len(got), err)
	}
	for name, w := range map[string]struct {
		segment watch.Segment
		kind    watch.FailureKind
		detail  string
	}{
		"a segment":       {watch.Segment{URI: bomb(limit + 1<<20)}, watch.FailureTooLarge, ""},
		"an init section": {watch.Segment{Init: &watch.Init{URI: bomb(media.MaxInit + 1<<20)}}, watch.FailureTooLarge, ""},
		"a key":           {watch.Segment{Key: &watch.Key{URI: bomb(media.MaxInit + 1<<20), IV: testIV}}, watch.FailureMalformed, ""},
		"one that becomes nothing, without an end":   {watch.Segment{URI: serve(t, encoded(compress(t, nil), true, "gzip"))}, watch.FailureNetwork, "nothing came"},
		"a byte range that is compressed is refused": {watch.Segment{URI: serve(t, encoded(small, false, "gzip")), Range: byteRange(0, 10)}, watch.FailureNetwork, "content-encoding"},
	} {
		t.Run(name, func(t *testing.T) { wantFetchFailure(t, c, w.segment, w.kind, w.detail) })
	}
	for _, codings := range [][]string{{"gzip, gzip"}, {"gzip,identity"}, {"br"}, {"zstd"}, {"deflate"}, {"compress"}, {"x-gzip"}, {"chunked"}, {"rubbish"}, {"identity", "gzip"}} {
		wantFetchFailure(t, c, watch.Segment{URI: serve(t, encoded(small, false, codings...)) + secret}, watch.FailureNetwork, "content-encoding")
	}
	t.Run("a second coding in a line of its own is left on", func(t *testing.T) {
		got, err := fetch(t, c, watch.Segment{URI: serve(t, encoded(compress(t, small), false, "gzip", "gzip"))})
		if err != nil || !bytes.Equal(got, small) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// copySegment reads a segment and returns how many bytes it has. That allocates little.
func copySegment(t *testing.T, s watch.Segment) (n int64, err error) {
	t.Helper()
	c := newClient(t, nil)
	grew := bytesAllocated(t, func() {
		body := must.Get(c.FetchSegment(withTimeout(t), s))(t)
		defer func() { _ = body.Close() }()
		n, err = io.Copy(io.Discard, body)
	})
	if grew > 2<<20 {
		t.Errorf("%d bytes were allocated, more than allowed", grew)
	}
	return n, err
}

func TestASegmentIsNotHeldInMemory(t *testing.T) {
	t.Run("compressed, without an end", func(t *testing.T) {
		n, err := copySegment(t, watch.Segment{URI: serve(t, encoded(compress(t, make([]byte, 16<<20)), true, "gzip"))})
		wantFailure(t, err, watch.FailureTooLarge, "")
		if n != 64<<20 {
			t.Errorf("got %d bytes", n)
		}
	})
	t.Run("encrypted", func(t *testing.T) {
		const size = 32 << 20
		v := &countingServer{requests: map[string]int{}, files: map[string][]byte{"/key": testKey, "/segment": encryptCBC(t, testKey, testIV, pad(make([]byte, size)))}}
		base := serve(t, v.serve)
		if n, err := copySegment(t, watch.Segment{URI: base + "/segment", Key: &watch.Key{URI: base + "/key", IV: testIV}}); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// bytesAllocated returns how many bytes do allocates, those of the servers included,
// whether or not they are still in use.
func bytesAllocated(t *testing.T, do func()) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A server may announce what it likes.
func TestAnAnnouncedLengthIsNotAllocated(t *testing.T) {
	base := rawServer(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nx", 1<<29), false)
	if grew := bytesAllocated(t, func() {
		_, _, err := newClient(t, nil).Get(withTimeout(t), base, 1<<30)
		wantFailure(t, err, watch.FailureTruncated, "")
	}); grew > 64<<20 {
		t.Errorf("%d bytes were allocated for one", grew)
	}
}

func TestTheResponseHeaderIsLimited(t *testing.T) {
	// The limit is for all header lines together; the server adds a few of its own.
	answer := func(n int) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := range n / 1024 {
				w.Header().Set(fmt.Sprintf("X-%04d", i), strings.Repeat("x", 1024-len("X-0000: \r\n")))
			}
		})
	}
	must.Get(fetch(t, newClient(t, nil), watch.Segment{URI: answer(media.MaxHeader-1024) + secret}))(t)
	wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: answer(media.MaxHeader) + secret}, watch.FailureNetwork, "")
}

// rawServer answers every request with text, and then closes the connection, or sends one byte at a time
// for ever.
func rawServer(t *testing.T, text string, drips bool) string {
	t.Helper()
	return outboundtest.RawServer(t, func(c net.Conn) {
		if drips {
			outboundtest.Drip(c, text, "x")
		}
		_, _ = io.WriteString(c, text)
	})
}
