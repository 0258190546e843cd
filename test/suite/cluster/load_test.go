//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// loadGenerator calls the API from several clients. Half of the clients keep their
// connections, half open a new one for each request. Every second client of each
// half sends registrations that must be refused. net/http repeats a GET when a kept
// connection turns out to be closed, but never a POST.
type loadGenerator struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	requests int
	failures []string
}

const (
	clients         = 8
	requestInterval = 40 * time.Millisecond // between the requests of a client
)

// apiRequest is a request and the status that it must get.
type apiRequest struct {
	method, path, body string
	status             int
}

var (
	listRequest    = apiRequest{http.MethodGet, "/api/v1/monitors?limit=5", "", http.StatusOK}
	refusedRequest = apiRequest{http.MethodPost, "/api/v1/monitors", `{"stream_url": "none"}`, http.StatusBadRequest}
)

func (s *clusterEnv) startLoad(ctx context.Context) *loadGenerator {
	h := &loadGenerator{}
	ctx, h.stop = context.WithCancel(ctx)
	for i := range clients {
		transport := s.Service.Client().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = i%2 == 0
		request := listRequest
		if i/2%2 == 0 {
			request = refusedRequest
		}
		h.running.Go(func() {
			defer transport.CloseIdleConnections()
			for tick := time.Tick(requestInterval); ; {
				select {
				case <-tick:
					h.send(&http.Client{Transport: transport, Timeout: 10 * time.Second}, s.Service.URL(), request)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return h
}

// send makes one request. It is finished and counted even if stopLoad is called
// meanwhile.
func (h *loadGenerator) send(client *http.Client, url string, b apiRequest) {
	start := time.Now()
	req, err := http.NewRequest(b.method, url+b.path, strings.NewReader(b.body))
	if err == nil {
		req.Header.Set("X-API-Key", system.APIKey)
		req.Header.Set("Content-Type", "application/json")
		var res *http.Response
		if res, err = client.Do(req); err == nil {
			if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode != b.status { // without a full read the connection is not kept
				err = fmt.Errorf("%s", res.Status)
			}
			_ = res.Body.Close() // the body was read
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	if err != nil {
		h.failures = append(h.failures, start.Format("15:04:05.000 ")+b.method+" "+err.Error())
	}
}

// stopLoad stops the clients and returns the requests that have failed.
func (h *loadGenerator) stopLoad() (failures []string) {
	h.stop()
	h.running.Wait()
	logProgress("of %d requests meanwhile, %d failed", h.requests, len(h.failures))
	if h.requests == 0 {
		return []string{"no request was made"}
	}
	return h.failures
}
