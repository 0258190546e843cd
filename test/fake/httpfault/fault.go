package httpfault

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault answers r, with or without the help of next, which is the handler that
// would have answered. A Fault that waits ends when the request's context does.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Wrap returns a handler that consults choose for each request and lets next
// answer when choose returns nil.
func Wrap(next http.Handler, choose func(*http.Request) Fault) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := choose(r); f != nil {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Status answers with an HTTP status and nothing else of use.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, strconv.Itoa(code)+" "+http.StatusText(code), code)
	}
}

// RetryAfter answers with an HTTP status and a Retry-After header.
func RetryAfter(code int, after time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		Status(code)(w, r, next)
	}
}

// Redirect answers 302 to url.
func Redirect(url string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, url, http.StatusFound)
	}
}

// Text answers 200 with a body of its own.
func Text(body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	}
}

// Zeros answers 200 with n bytes of zero, announced.
func Zeros(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		pour(w, r, n)
	}
}

// Endless answers 200 with n bytes of zero whose number is not announced, so
// that only counting finds out that they are too many.
func Endless(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.WriteHeader(http.StatusOK)
		flush(w)
		pour(w, r, n)
	}
}

// Lines answers 200 with n copies of line.
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

// Bomb answers 200 with n bytes of zero, as the few that gzip makes of them.
func Bomb(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/octet-stream")
		small := gzip.NewWriter(w)
		defer func() { _ = small.Close() }()
		block := make([]byte, 1<<20)
		for left := n; left > 0 && r.Context().Err() == nil; left -= int64(len(block)) {
			if _, err := small.Write(block[:min(left, int64(len(block)))]); err != nil {
				return
			}
		}
	}
}

// Hang accepts the request and never answers.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Delay answers properly after d.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if wait(r, d) {
			next.ServeHTTP(w, r)
		}
	}
}

// Drip answers properly, in pieces of n bytes with a pause before each.
func Drip(n int, pause time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := capture(r, next)
		answer.head(w)
		for body := answer.body.Bytes(); len(body) > 0; {
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

// Truncate announces the whole answer, sends its first half and hangs up.
func Truncate() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := capture(r, next)
		answer.head(w)
		_, _ = w.Write(answer.body.Bytes()[:answer.body.Len()/2])
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

// HangUp closes the connection instead of answering.
func HangUp() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// Reset resets the TCP connection instead of answering.
func Reset() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(fmt.Sprintf("fault: reset: %v", err))
		}
		raw := conn
		if inner, ok := conn.(interface{ NetConn() net.Conn }); ok { // below TLS, which would say goodbye first
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

func pour(w http.ResponseWriter, r *http.Request, n int64) {
	block := make([]byte, 64<<10)
	for n > 0 && r.Context().Err() == nil {
		m, err := w.Write(block[:min(n, int64(len(block)))])
		if err != nil {
			return
		}
		n -= int64(m)
	}
}
