package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxResponse is the largest response read, in bytes; an assignment carries a
// snapshot of at most 256 KiB.
const maxResponse = 1 << 20

// defaultConnectTimeout is half of a worker's attempt (4 s), so that the next attempt
// connects again: a Kubernetes Service may choose another pod. It is longer than 1 s,
// after which a lost SYN is sent again.
const defaultConnectTimeout = 2 * time.Second

// tokenHeader carries the worker's token (decision O9).
const tokenHeader = "X-Internal-Api-Key" //nolint:gosec // the name of a header, as net/http writes X-Internal-API-Key

// Config configures a Client. The zero value is usable.
type Config struct {
	Timeout        time.Duration  // limit of one exchange; default 20 s
	ConnectTimeout time.Duration  // limit of the TCP connection; default 2 s
	RootCAs        *x509.CertPool // default: the system's, or those of SSL_CERT_FILE
}

// Client talks to the internal API. It may be used concurrently.
type Client struct {
	base  string
	token string
	http  *http.Client

	uploads *http.Client // the same connections, with another limit
}

// uploadTimeout limits one upload; the gateway's own limit of the body is 60 s.
const uploadTimeout = 90 * time.Second

// New makes a Client of the internal API at baseURL, such as
// http://127.0.0.1:8081, with the token of the worker.
func New(baseURL, token string, cfg Config) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("gateway: the base URL is not http://host:port or https://host:port")
	}
	if token == "" {
		return nil, errors.New("gateway: the token is empty")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 20 * time.Second
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = defaultConnectTimeout
	}
	// HTTP/2 would go on using a connection that was cut without notice. With HTTP/1.1
	// the next attempt opens another connection.
	var http1 http.Protocols
	http1.SetHTTP1(true)
	limited := http.Client{
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            (&net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        4,
			MaxIdleConns:           2,
			IdleConnTimeout:        90 * time.Second,
			Protocols:              &http1,
		},
	}
	uploads := limited
	uploads.Timeout = uploadTimeout
	return &Client{base: strings.TrimRight(baseURL, "/"), token: token, http: &limited, uploads: &uploads}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// exchange sends one request and decodes the response into v.
func (c *Client) exchange(ctx context.Context, method, path string, body []byte, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.do(c.http, req, v)
}

// do sends a request with the token and decodes the response into v.
func (c *Client) do(client *http.Client, req *http.Request, v any) error {
	req.Header.Set(tokenHeader, c.token)
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if len(raw) > maxResponse {
		return fmt.Errorf("the response is larger than %d bytes", maxResponse)
	}
	if resp.StatusCode != http.StatusOK {
		return errorOf(resp.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the response cannot be decoded: %w", err)
	}
	return nil
}

// errorOf turns a response other than 200 into an error.
func errorOf(status int, raw []byte) error {
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil || body.Error.Code == "" {
		return fmt.Errorf("HTTP %d without the gateway's error code; check GATEWAY_URL", status)
	}
	switch {
	case status == http.StatusConflict && body.Error.Code == "SUPERSEDED":
		return monitor.ErrSuperseded
	case status == http.StatusConflict && body.Error.Code == string(evidence.Conflict):
		return monitor.Errorf(evidence.Conflict, "%s", body.Error.Message)
	case status == http.StatusTooManyRequests && body.Error.Code == string(evidence.QuotaExceeded):
		return monitor.Errorf(evidence.QuotaExceeded, "%s", body.Error.Message)
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		return monitor.Errorf(monitor.InvalidConfig, "%s", body.Error.Message)
	case status == http.StatusUnauthorized && body.Error.Code == string(monitor.Unauthorized):
		return monitor.Errorf(monitor.Unauthorized, "%s", body.Error.Message)
	case status == http.StatusNotFound && body.Error.Code == string(monitor.NotFound):
		return monitor.Errorf(monitor.NotFound, "%s", body.Error.Message)
	case status >= http.StatusInternalServerError:
		return monitor.Errorf(monitor.Internal, "HTTP %d %s: %s", status, body.Error.Code, body.Error.Message)
	}
	return fmt.Errorf("HTTP %d %s: %s", status, body.Error.Code, body.Error.Message)
}

// Roots returns the system's roots and the certificates of a PEM file. The file holds the
// certificate of a gateway that the system does not trust, or of its issuer. Errors: the
// file cannot be read, or has no certificate.
func Roots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the gateway's certificate: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine without roots still trusts the file
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the gateway's certificate: %s holds no certificate in PEM", file)
	}
	return roots, nil
}
