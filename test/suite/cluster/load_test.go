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

const (
	clients         = 8
	requestInterval = 40 * time.Millisecond // between the requests of a client
)

// startLoad calls the API from several clients until stop is called, which returns the requests that
// have failed. Half of the clients keep their connections, half open a new one for each request. Every
// second client of each half sends registrations that must be refused: net/http repeats a GET when a
// kept connection turns out to be closed, but never a POST.
func (s *clusterEnv) startLoad(ctx context.Context) (stop func() (failures []string)) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	requests, failures := make([]int, clients), make([][]string, clients)
	for i := range clients {
		transport := s.Service.Client().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = i%2 == 0
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		method, path, body, status := http.MethodGet, "/api/v1/monitors?limit=5", "", http.StatusOK
		if i/2%2 == 0 {
			method, path, body, status = http.MethodPost, "/api/v1/monitors", `{"stream_url": "none"}`, http.StatusBadRequest
		}
		running.Go(func() {
			defer transport.CloseIdleConnections()
			for tick := time.Tick(requestInterval); ctx.Err() == nil; <-tick {
				start := time.Now()
				if err := request(client, method, s.Service.URL()+path, body, status); err != nil {
					failures[i] = append(failures[i], start.Format("15:04:05.000 ")+method+" "+err.Error())
				}
				requests[i]++
			}
		})
	}
	return func() (all []string) {
		cancel()
		running.Wait()
		n := 0
		for i := range clients {
			n, all = n+requests[i], append(all, failures[i]...)
		}
		if logProgress("of %d requests meanwhile, %d failed", n, len(all)); n == 0 {
			return []string{"no request was made"}
		}
		return all
	}
}

// request makes a request. It reads the answer to its end, without which the connection is not kept.
// Error: it has another status.
func request(client *http.Client, method, url, body string, status int) error {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", system.APIKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != status {
		return fmt.Errorf("%s", res.Status)
	}
	return nil
}
