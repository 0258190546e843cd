package system

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// client calls the REST API with plain maps instead of the project's own types,
// so that a renamed JSON field fails the tests.
type client struct {
	public, internal string
	http             *http.Client
}

func newClient(public, internal string) client {
	// Never through the proxy that the environment names.
	return client{public, internal, &http.Client{Timeout: time.Minute, Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 32}}}
}

// Response is an answer of the public API.
type Response struct {
	Status int
	Header http.Header
	Body   map[string]any
}

// URL is the base URL of the public API.
func (s *Service) URL() string { return s.client.public }

// InternalURL is the base URL of the internal API.
func (s *Service) InternalURL() string { return s.client.internal }

// WorkerToken is the token of a monitor's first worker, for the internal API.
func WorkerToken(id string) string { return monitor.NewTokenKey(InternalKey).Token(monitor.ID(id), 1) }

// Call makes a request to the public API. A body that is not nil is sent as
// JSON, bytes as they are; each header is a name and a value. Error: there was no answer, or its
// body is not JSON.
func (s *Service) Call(ctx context.Context, method, path string, body any, headers ...[2]string) (Response, error) {
	var payload io.Reader
	if raw, is := body.([]byte); is {
		payload = bytes.NewReader(raw)
	} else if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return Response{}, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.client.public+path, payload)
	if err != nil {
		return Response{}, err
	}
	req.Header.Set("X-API-Key", APIKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		req.Header.Set(h[0], h[1])
	}
	res, err := s.client.http.Do(req)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	a := Response{Status: res.StatusCode, Header: res.Header}
	if err := json.NewDecoder(res.Body).Decode(&a.Body); err != nil {
		return a, fmt.Errorf("%s %s: %d with a body that is no JSON: %w", method, path, res.StatusCode, err)
	}
	return a, nil
}

// Register registers a monitor and returns its id. A nil config means the
// defaults.
func (s *Service) Register(ctx context.Context, streamURL, callbackURL string, config map[string]any) (string, error) {
	if config == nil {
		config = map[string]any{}
	}
	a, err := s.Call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
		"stream_url": streamURL, "callback_url": callbackURL, "config": config,
		"metadata": map[string]any{"channel_name": "Example Channel"},
	})
	if err != nil {
		return "", err
	}
	id, _ := a.Body["monitor_id"].(string)
	if a.Status != http.StatusCreated || id == "" {
		return "", fmt.Errorf("registering was answered with %d %v", a.Status, a.Body)
	}
	return id, nil
}

// Monitor returns a monitor as GET answers it.
func (s *Service) Monitor(ctx context.Context, id string) (map[string]any, error) {
	a, err := s.Call(ctx, http.MethodGet, "/api/v1/monitors/"+id, nil)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("reading %s was answered with %d %v", id, a.Status, a.Body)
	}
	return a.Body, err
}

// WaitStatus waits until a monitor has a status, and returns the monitor.
func (s *Service) WaitStatus(ctx context.Context, id, status string) (map[string]any, error) {
	for {
		m, err := s.Monitor(ctx, id)
		if err == nil && m["status"] == status {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return m, fmt.Errorf("the monitor is %v, not %s: %w", m["status"], status, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
