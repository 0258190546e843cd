package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// The behaviours of receivers.
const (
	fine    = "fine"
	hangs   = "hangs"
	refuses = "refuses"

	callbacks = "callbacks" // accepts, and counts nothing
)

// receivers are the receivers of all destinations, on one port.
type receivers struct {
	server *httptest.Server

	mu       sync.Mutex
	accepted int                  // by healthy receivers
	first    map[string]time.Time // when the first webhook of an event came
}

func startReceivers() *receivers {
	r := &receivers{first: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/"+fine, func(w http.ResponseWriter, req *http.Request) {
		r.accept(req.Header.Get("X-Event-Id"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/"+hangs, func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the server notices only then that the sender has gone
		<-req.Context().Done()
	})
	mux.HandleFunc("/"+refuses, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/"+callbacks, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	r.server = httptest.NewServer(mux)
	return r
}

func (r *receivers) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *receivers) url(kind string) string { return r.server.URL + "/" + kind }

func (r *receivers) accept(eventID string) {
	at := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted++
	if _, known := r.first[eventID]; !known {
		r.first[eventID] = at
	}
}

func (r *receivers) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted, r.first = 0, map[string]time.Time{}
}

func (r *receivers) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

func (r *receivers) times() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.first)
}

// await waits until so many webhooks have come, for at most the limit, and returns how many there are.
func (r *receivers) await(ctx context.Context, want int, limit time.Duration) (got int) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for got = r.count(); got < want && wait.For(ctx, time.Millisecond); got = r.count() {
	}
	return got
}
