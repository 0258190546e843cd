package httpfault

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault answers a request. It may call next, the handler that would have answered
// without the fault. A Fault that waits returns when the request's context is done.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Wrap returns a handler that answers each request with the fault that choose
// returns, or with next if choose returns nil.
func Wrap(next http.Handler, choose func(*http.Request) Fault) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := choose(r); f != nil {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Status answers with an HTTP status and its text.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, strconv.Itoa(code)+" "+http.StatusText(code), code)
	}
}

// Redirect answers 302 to url.
func Redirect(url string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, url, http.StatusFound)
	}
}

// Text answers 200 with body.
func Text(body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	}
}

// Zeros answers 200 with n zero bytes and a Content-Length.
func Zeros(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		writeZeros(w, r, n)
	}
}

// Endless answers 200 with n zero bytes without a Content-Length, so that only a
// reader that counts them notices the size.
func Endless(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.WriteHeader(http.StatusOK)
		flush(w)
		writeZeros(w, r, n)
	}
}

// Lines answers 200 with first and then n copies of line.
func Lines(first string, n int, line string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.WriteString(w, first)
		block := bytes.Repeat([]byte(line), 100)
		for left := n; left > 0 && r.Context().Err() == nil; left -= 100 {
			if _, err := w.Write(block[:min(left, 100)*len(line)]); err != nil {
				return
			}
		}
	}
}

// Bomb answers 200 with n zero bytes, compressed by gzip to a small body.
func Bomb(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/octet-stream")
		compressed := gzip.NewWriter(w)
		defer func() { _ = compressed.Close() }()
		block := make([]byte, 1<<20)
		for left := n; left > 0 && r.Context().Err() == nil; left -= int64(len(block)) {
			if _, err := compressed.Write(block[:min(left, int64(len(block)))]); err != nil {
				return
			}
		}
	}
}

// Hang reads the request and never answers.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Delay sends the real response after d.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if wait(r, d) {
			next.ServeHTTP(w, r)
		}
	}
}

// Drip sends the real response in pieces of n bytes, with a pause before each.
func Drip(n int, pause time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		response := capture(r, next)
		response.writeHead(w)
		for body := response.body.Bytes(); len(body) > 0; {
			if !wait(r, pause) {
				return
			}
			piece := body[:min(n, len(body))]
			if _, err := w.Write(piece); err != nil {
				return
			}
			flush(w)
			body = body[len(piece):]
		}
	}
}

// Truncate sends the real Content-Length and half of the body, and closes the
// connection.
func Truncate() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		response := capture(r, next)
		response.writeHead(w)
		_, _ = w.Write(response.body.Bytes()[:response.body.Len()/2])
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

// HangUp closes the connection without a response.
func HangUp() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// Reset resets the TCP connection (RST) without a response.
func Reset() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(fmt.Sprintf("httpfault: reset: %v", err))
		}
		raw := conn
		if inner, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS would send close_notify first
			raw = inner.NetConn()
		}
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = raw.Close()
		_ = conn.Close()
	}
}

func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func writeZeros(w http.ResponseWriter, r *http.Request, n int64) {
	block := make([]byte, 64<<10)
	for n > 0 && r.Context().Err() == nil {
		m, err := w.Write(block[:min(n, int64(len(block)))])
		if err != nil {
			return
		}
		n -= int64(m)
	}
}

// captured is a response that is held back.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// capture records the response of next.
func capture(r *http.Request, next http.Handler) *captured {
	c := &captured{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(c, r)
	return c
}

func (c *captured) Header() http.Header         { return c.header }
func (c *captured) WriteHeader(status int)      { c.status = status }
func (c *captured) Write(p []byte) (int, error) { return c.body.Write(p) }

// writeHead sends the status and the headers of the whole response.
func (c *captured) writeHead(w http.ResponseWriter) {
	maps.Copy(w.Header(), c.header)
	w.Header().Set("Content-Length", strconv.Itoa(c.body.Len()))
	w.WriteHeader(c.status)
}
