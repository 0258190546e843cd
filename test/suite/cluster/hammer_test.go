//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// hammer is clients that call the API without a pause: half of them over
// connections that they keep, half over a new one each time. Every other of both
// asks for a registration that must be refused: net/http repeats what only reads
// when a connection it kept turns out to be closed, but never a POST.
type hammer struct {
	stop    context.CancelFunc
	working sync.WaitGroup

	mu      sync.Mutex
	took    []time.Duration
	refused []string
}

const (
	clients = 8
	beat    = 40 * time.Millisecond // of each client
)

// blow is a request and how it must be answered.
type blow struct {
	method, path, body string
	status             int
}

var (
	reading     = blow{http.MethodGet, "/api/v1/monitors?limit=5", "", http.StatusOK}
	registering = blow{http.MethodPost, "/api/v1/monitors", `{"stream_url": "none"}`, http.StatusBadRequest}
)

func (s *site) hammer(ctx context.Context) *hammer {
	h := &hammer{}
	ctx, h.stop = context.WithCancel(ctx)
	for i := range clients {
		transport := s.Service.Client().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = i%2 == 0
		blow := reading
		if i/2%2 == 0 {
			blow = registering
		}
		h.working.Go(func() {
			defer transport.CloseIdleConnections()
			for tick := time.Tick(beat); ; {
				select {
				case <-tick:
					h.strike(&http.Client{Transport: transport, Timeout: 10 * time.Second}, s.Service.URL(), blow)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return h
}

// strike makes one request, to its end: what is under way when the hammer is put
// down counts.
func (h *hammer) strike(with *http.Client, url string, b blow) {
	began := time.Now()
	req, err := http.NewRequest(b.method, url+b.path, strings.NewReader(b.body))
	if err == nil {
		req.Header.Set("X-API-Key", system.APIKey)
		req.Header.Set("Content-Type", "application/json")
		var res *http.Response
		if res, err = with.Do(req); err == nil {
			if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode != b.status { // or the connection is not kept
				err = fmt.Errorf("%s", res.Status)
			}
			_ = res.Body.Close() // it was read
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, time.Since(began))
	if err != nil {
		h.refused = append(h.refused, began.Format("15:04:05.000 ")+b.method+" "+err.Error())
	}
}

// down ends the hammering and says how it went.
func (h *hammer) down() (summary string, refused []string) {
	h.stop()
	h.working.Wait()
	slices.Sort(h.took)
	n := len(h.took)
	if n == 0 {
		return "no request", []string{"no request was made"}
	}
	return fmt.Sprintf("%d requests, %d refused, median %s, slowest %s", n, len(h.refused), h.took[n/2].Round(time.Millisecond), h.took[n-1].Round(time.Millisecond)), h.refused
}
