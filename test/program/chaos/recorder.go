//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// reportRecorder is a reverse proxy between workers and gateway. It records
// which reports the gateway accepted. Events of these reports must not be lost.
type reportRecorder struct {
	server   *http.Server
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	accepted []acceptedReport
}

// acceptedReport is a report that the gateway answered with 2xx.
type acceptedReport struct {
	at         time.Time
	monitor    string
	generation int
	events     []string
	checks     int // total_segments_analyzed
}

func newReportRecorder(gateway string) (*reportRecorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &reportRecorder{listener: listener}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: gateway})
	proxy.Transport = &http.Transport{Proxy: nil, DisableKeepAlives: true}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // the worker sees a closed connection, as without a proxy
	proxy.ModifyResponse = func(answer *http.Response) error {
		if body, ok := answer.Request.Context().Value(reportKey{}).([]byte); ok && answer.StatusCode/100 == 2 {
			r.addReport(answer.Request.URL.Path, body)
		}
		return nil
	}
	r.server = &http.Server{
		Handler:           readBody(proxy),
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 10 * time.Second,
	}
	r.serving.Go(func() { _ = r.server.Serve(listener) })
	return r, nil
}

// reportKey is the context key of a request's body.
type reportKey struct{}

// maxReport is the largest report in bytes. The gateway has the same limit.
const maxReport = 8 << 20

// readBody keeps the body of a report in the request's context.
func readBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxReport))
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r = r.WithContext(context.WithValue(r.Context(), reportKey{}, body))
		}
		next.ServeHTTP(w, r)
	})
}

func (r *reportRecorder) addReport(path string, body []byte) {
	var report struct {
		Generation int `json:"generation"`
		Statistics struct {
			Total int `json:"total_segments_analyzed"`
		} `json:"statistics"`
		Events []struct {
			ID string `json:"event_id"`
		} `json:"events"`
	}
	if json.Unmarshal(body, &report) != nil {
		return
	}
	accepted := acceptedReport{at: time.Now(), generation: report.Generation, checks: report.Statistics.Total}
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "mon-") {
			accepted.monitor = part
		}
	}
	for _, e := range report.Events {
		accepted.events = append(accepted.events, strings.ToLower(e.ID))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted = append(r.accepted, accepted)
}

// reports lists the accepted reports so far.
func (r *reportRecorder) reports() []acceptedReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]acceptedReport(nil), r.accepted...)
}

func (r *reportRecorder) address() string { return r.listener.Addr().String() }

func (r *reportRecorder) close() {
	if r != nil {
		_ = r.server.Close()
		r.serving.Wait()
	}
}
