package youtube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of one probe.
const (
	Timeout      = 5 * time.Second // the whole exchange, body included
	MaxBody      = 64 << 10        // bytes; a larger body says nothing
	MaxRedirects = 3               // on the same host only
)

const service = "https://www.youtube.com/oembed"

// Prober is a worker.Prober. It may be used concurrently.
type Prober struct {
	client  http.Client
	service string
}

// NewProber makes a Prober that uses client with its proxies and certificates (decision O8).
// It replaces the client's redirect policy.
func NewProber(client *http.Client) *Prober { return newAt(service, client) }

func newAt(service string, client *http.Client) *Prober {
	c := *client
	c.CheckRedirect = refuseOtherHosts
	return &Prober{client: c, service: service}
}

// refuseOtherHosts does not follow a redirect to another host, such as a consent page
// or a captive portal. The redirect is then the response.
func refuseOtherHosts(next *http.Request, sent []*http.Request) error {
	first := sent[0].URL
	if len(sent) > MaxRedirects || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// Probe implements worker.Prober. It blocks for at most Timeout.
func (p *Prober) Probe(ctx context.Context, stream monitor.StreamURL) watch.ProbeResult {
	var answer watch.ProbeResult
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()

	status, err := p.request(ctx, stream)
	switch {
	case err != nil:
		answer.Detail = err.Error()
	case status == http.StatusOK:
		answer.Known, answer.Exists = true, true
	case status == http.StatusNotFound, status == http.StatusBadRequest:
		answer.Known = true
	}
	if status != 0 && answer.Detail == "" {
		answer.Detail = fmt.Sprintf("oEmbed: HTTP %d", status)
	}
	return answer
}

// request returns the status of the response. A 200 that does not describe a video is
// an error: proxies and captive portals answer every request with 200.
func (p *Prober) request(ctx context.Context, stream monitor.StreamURL) (int, error) {
	query := url.Values{"url": {string(stream)}, "format": {"json"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.service+"?"+query.Encode(), nil)
	if err != nil {
		return 0, fmt.Errorf("make oEmbed request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil
	}

	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read HTTP 200: %w", err)
	}
	if len(body) > MaxBody {
		return resp.StatusCode, fmt.Errorf("HTTP 200 with more than %d bytes", MaxBody)
	}
	var video struct {
		Title *string `json:"title"`
	}
	if err := json.Unmarshal(body, &video); err != nil || video.Title == nil {
		return resp.StatusCode, errors.New("HTTP 200 that does not describe a video")
	}
	return resp.StatusCode, nil
}

// withoutURL removes the URL from a client's error: it only repeats the request.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("oEmbed not reached: %w", err)
}
