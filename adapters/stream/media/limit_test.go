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
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// bomb returns zeros compressed with gzip, to about a thousandth of size.
func bomb(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.CopyN(z, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encoded(coding string, body []byte) func(http.ResponseWriter, *http.Request, <-chan struct{}) {
	return func(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
		w.Header()["Content-Encoding"] = strings.Split(coding, ";")
		for r.Context().Err() == nil {
			_, _ = w.Write(body)
			if !strings.HasPrefix(r.URL.Path, "/again") {
				return
			}
		}
	}
}

func TestCompressedBodiesCountDecompressed(t *testing.T) {
	t.Run("a segment counts as what it becomes", func(t *testing.T) {
		const limit = 4 << 20
		c := newClient(t, func(c *media.Config) { c.MaxSegment = limit })
		base := serve(t, encoded("gzip", bomb(t, limit)))
		if got, err := fetch(t, c, watch.Segment{URI: base}); err != nil || len(got) != limit {
			t.Errorf("at the limit: %d bytes, %v", len(got), err)
		}
		base = serve(t, encoded("gzip", bomb(t, limit+1)))
		got, err := fetch(t, c, watch.Segment{URI: base})
		wantFailure(t, err, watch.FailureTooLarge, "")
		if len(got) > limit {
			t.Errorf("got %d bytes beyond the limit", len(got))
		}
	})
	for name, s := range map[string]watch.Segment{
		"an init section": {Init: &watch.Init{}},
		"a key":           {Key: &watch.Key{IV: testIV}},
	} {
		t.Run(name+" counts as what it becomes", func(t *testing.T) {
			base, kind := serve(t, encoded("gzip", bomb(t, media.MaxInit+1))), watch.FailureTooLarge
			if s.Key != nil {
				s.Key.URI, kind = base, watch.FailureMalformed
			} else {
				s.Init.URI = base
			}
			wantFetchFailure(t, newClient(t, nil), s, kind, "")
		})
	}
	t.Run("one without an end costs no memory", func(t *testing.T) {
		base := serve(t, encoded("gzip", bomb(t, 256<<20)))
		c := newClient(t, nil)
		grew := bytesAllocated(t, func() {
			body, err := c.FetchSegment(withTimeout(t), watch.Segment{URI: base + "/again"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = body.Close() }()
			n, err := io.Copy(io.Discard, body)
			wantFailure(t, err, watch.FailureTooLarge, "")
			if n != 64<<20 {
				t.Errorf("got %d bytes beyond the limit", n)
			}
		})
		if grew > 2<<20 {
			t.Errorf("%d bytes were allocated, more than allowed", grew)
		}
	})
	t.Run("one that becomes nothing, without an end, has come to a halt", func(t *testing.T) {
		base := serve(t, encoded("gzip", bomb(t, 0)))
		c := newClient(t, func(c *media.Config) { c.Stall = 200 * time.Millisecond })
		wantFetchFailure(t, c, watch.Segment{URI: base + "/again"}, watch.FailureNetwork, "nothing came")
	})
	t.Run("a repeated or unsupported content coding is refused", func(t *testing.T) {
		for _, coding := range []string{"gzip, gzip", "gzip,identity", "br", "zstd", "deflate", "compress", "x-gzip", "chunked", "rubbish", "identity;gzip"} {
			base := serve(t, encoded(coding, bomb(t, 100)))
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + secret}, watch.FailureNetwork, "content-encoding")
		}
	})
	t.Run("a second coding in a line of its own is left on", func(t *testing.T) {
		inner := bomb(t, 1<<20)
		var outer bytes.Buffer
		z := gzip.NewWriter(&outer)
		_, _ = z.Write(inner)
		_ = z.Close()
		base := serve(t, encoded("gzip;gzip", outer.Bytes()))
		got, err := fetch(t, newClient(t, nil), watch.Segment{URI: base + secret})
		if err != nil || !bytes.Equal(got, inner) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("a byte range that is compressed is refused", func(t *testing.T) {
		base := serve(t, encoded("gzip", bomb(t, 100)))
		wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + secret, Range: byteRange(0, 10)}, watch.FailureNetwork, "content-encoding")
	})
}

func TestAnEncryptedSegmentIsNotHeldInMemory(t *testing.T) {
	const size = 32 << 20
	v := &countingServer{requests: map[string]int{}, files: map[string][]byte{"/key": testKey, "/segment": encryptCBC(t, testKey, testIV, pad(make([]byte, size)))}}
	base := serve(t, v.serve)
	c := newClient(t, nil)
	grew := bytesAllocated(t, func() {
		body, err := c.FetchSegment(withTimeout(t), watch.Segment{URI: base + "/segment", Key: &watch.Key{URI: base + "/key", IV: testIV}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		if n, err := io.Copy(io.Discard, body); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	if grew > 2<<20 {
		t.Errorf("%d bytes were allocated, more than allowed", grew)
	}
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
		return serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			for i := range n / 1024 {
				w.Header().Set(fmt.Sprintf("X-%04d", i), strings.Repeat("x", 1024-len("X-0000: \r\n")))
			}
		})
	}
	if _, err := fetch(t, newClient(t, nil), watch.Segment{URI: answer(media.MaxHeader-1024) + secret}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: answer(media.MaxHeader) + secret}, watch.FailureNetwork, "")
}

func TestOneByteAtATimeIsTooSlowEverywhere(t *testing.T) {
	for name, text := range map[string]string{
		"in the status line": "",
		"in the header":      "HTTP/1.1 200 OK\r\nX: ",
		"in a chunk's size":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
		"in a chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
		"in the trailer":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
	} {
		t.Run(name, func(t *testing.T) {
			base := rawServer(t, text, true)
			c := newClient(t, func(c *media.Config) {
				c.Header, c.Stall, c.MinRate = 300*time.Millisecond, 300*time.Millisecond, 100_000
			})
			began := time.Now()
			wantFetchFailure(t, c, watch.Segment{URI: base + secret}, watch.FailureNetwork, "")
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// rawServer answers every connection with text, and then closes it, or sends one byte at a time
// for ever.
func rawServer(t *testing.T, text string, drips bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Read(make([]byte, 4096))
				_, err = io.WriteString(conn, text)
				for drops := time.NewTicker(5 * time.Millisecond); drips && err == nil; <-drops.C {
					_, err = io.WriteString(conn, "x")
				}
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return "http://" + listener.Addr().String()
}
