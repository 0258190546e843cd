// Package apiclient calls the public API of a gateway, for commands that people run.
//
// A call returns an error for every answer that is not the expected one. Its text has
// the gateway's message. A call that was refused by a rate limit is a *RateLimited, with
// the time to wait.
package apiclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	requestTimeout = 60 * time.Second
	maxAnswer      = 4 << 20 // bytes; a result of a batch names at most one field after the other
)

// Client calls one gateway. It may be used concurrently.
type Client struct {
	base string
	key  string
	http *http.Client
}

// New makes a client of the public API at baseURL, such as http://localhost:8080. roots
// vouch for its certificate; nil: the system's.
func New(baseURL, apiKey string, roots *x509.CertPool) *Client {
	return &Client{
		base: strings.TrimRight(baseURL, "/"),
		key:  apiKey,
		http: &http.Client{
			Timeout: requestTimeout,
			Transport: &http.Transport{
				Proxy:           http.ProxyFromEnvironment,
				TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			},
		},
	}
}

// RateLimited says that the gateway answers no more requests of this client for a while.
type RateLimited struct {
	Wait    time.Duration // until the next request is allowed, whole seconds
	Message string
}

func (e *RateLimited) Error() string { return e.Message }

// WhenAllowed makes a call, again whenever a rate limit has refused it. Before each wait it says on
// messages how long it takes. Errors: that of the call; the end of ctx.
func WhenAllowed(ctx context.Context, messages io.Writer, call func() error) error {
	for {
		err := call()
		limited, is := errors.AsType[*RateLimited](err)
		if !is {
			return err
		}
		fmt.Fprintf(messages, "the gateway's rate limit allows the next request in %s\n", limited.Wait)
		select {
		case <-time.After(limited.Wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// BatchResult is the answer to one registration of a batch (section 16.6).
type BatchResult struct {
	StreamURL string         `json:"stream_url"`
	MonitorID monitor.ID     `json:"monitor_id"`
	Channel   string         `json:"channel"` // of a batch of channels, as the next
	ChannelID string         `json:"channel_id"`
	Error     *monitor.Error `json:"error"` // nil: registered, or watched already

	Changed *[]monitor.Difference `json:"changed"` // of what is watched or registered already; nil: it was not

	Existing string `json:"-"` // the page of what is there already; empty: it was not refused for that
}

// BatchOptions are the parameters of a batch.
type BatchOptions struct {
	DryRun bool // only asks what would happen
	Update bool // changes what is watched or registered already
}

// RegisterBatch registers up to 100 monitors or channels (section 16.6), as list says. body is JSON or CSV, as
// contentType says. Errors: *RateLimited; the gateway cannot be reached; it refuses the batch as a whole.
func (c *Client) RegisterBatch(ctx context.Context, list, contentType string, body []byte, o BatchOptions) ([]BatchResult, error) {
	var answer struct {
		Results []BatchResult `json:"results"`
	}
	err := c.send(ctx, http.MethodPost, fmt.Sprintf("/api/v1/%s/batch?dry_run=%t&update=%t", list, o.DryRun, o.Update), contentType, body, &answer)
	for i, r := range answer.Results {
		if r.Error != nil && r.Error.Existing != "" {
			answer.Results[i].Existing = fmt.Sprintf("%s/%s/%s", c.base, list, r.Error.Existing)
		}
	}
	return answer.Results, err
}

// Call sends a request to a path of the public API, with body as JSON, and decodes the
// answer. A nil body is not sent; a nil answer is not read. Errors: *RateLimited; the
// gateway cannot be reached; its answer is a refusal, as *monitor.Error.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	if body == nil {
		return c.send(ctx, method, path, "", nil, answer)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	return c.send(ctx, method, path, "application/json", raw, answer)
}

func (c *Client) send(ctx context.Context, method, path, contentType string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("X-Api-Key", c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("reach the gateway: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return errorOf(resp, raw)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return nil
}

func errorOf(resp *http.Response, raw []byte) error {
	var answer struct {
		Error monitor.Error `json:"error"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Error.Code == "" {
		return fmt.Errorf("HTTP %d without an error code: %s is not the public API of a stream-monitor", resp.StatusCode, resp.Request.URL.Host)
	}
	if answer.Error.Code == monitor.RateLimitExceeded {
		sec, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || sec < 1 {
			sec = 1
		}
		return &RateLimited{time.Duration(sec) * time.Second, answer.Error.Message}
	}
	return &answer.Error
}
