package httpapi_test

import (
	"bytes"
	"net/http"
	"runtime"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// lengthWriter counts the bytes of a response.
type lengthWriter struct {
	header http.Header
	n      int
}

func (w *lengthWriter) Header() http.Header         { return w.header }
func (w *lengthWriter) WriteHeader(int)             {}
func (w *lengthWriter) Flush()                      {}
func (w *lengthWriter) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

// After a restart of a gateway hundreds of readers get the same state.replace of several
// megabytes at once.
func TestReadersOfTheFeedShareTheBytesOfAMessage(t *testing.T) {
	const size, readers, allowed = 8 << 20, 10, 64 << 10
	state := feed.Message{Type: feed.StateReplace, Position: feed.Position{Epoch: "e", Version: 1}, Line: bytes.Repeat([]byte("x"), size)}
	for _, sse := range []bool{true, false} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range readers {
			w := &lengthWriter{header: http.Header{}}
			if err := httpapi.WriteFeed(w, sse, state); err != nil || w.n < size {
				t.Fatalf("%d bytes, %v", w.n, err)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / readers; each > allowed {
			t.Errorf("each reader takes %d bytes for a message of %d, want at most %d (SSE: %t)", each, size, allowed, sse)
		}
	}
}
