package oembed

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

// Limits of one question.
const (
	Timeout      = 5 * time.Second // all of it, the body included
	MaxBody      = 64 << 10        // bytes; a larger body is no answer
	MaxRedirects = 3               // and only within the host
)

const service = "https://www.youtube.com/oembed"

// Prober is a worker.Prober. It may be used concurrently.
type Prober struct {
	client  http.Client
	service string
}

// New makes a Prober that asks through client, whose proxies and certificates
// it keeps (decision O8) and whose redirect policy it replaces.
func New(client *http.Client) *Prober { return newAt(service, client) }

func newAt(service string, client *http.Client) *Prober {
	own := *client
	own.CheckRedirect = refuseOtherHosts
	return &Prober{client: own, service: service}
}

// refuseOtherHosts returns a redirect to another host (a consent page, a captive
// portal) as the response, which is then no answer.
func refuseOtherHosts(next *http.Request, sent []*http.Request) error {
	first := sent[0].URL
	if len(sent) > MaxRedirects || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// Probe implements worker.Prober. It blocks for at most Timeout.
func (p *Prober) Probe(ctx context.Context, stream monitor.StreamURL) watch.ProbeResult {
	answer := watch.ProbeResult{Began: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()

	status, err := p.ask(ctx, stream)
	switch {
	case err != nil:
		answer.Detail = err.Error()
	case status == http.StatusOK:
		answer.Known, answer.Exists = true, true
	case status == http.StatusNotFound, status == http.StatusBadRequest:
		answer.Known = true
	}
	if status != 0 && answer.Detail == "" {
		answer.Detail = fmt.Sprintf("HTTP %d", status)
	}
	return answer
}

// ask returns the status of the answer. A 200 that does not describe a video is
// an error: proxies and captive portals say 200 to everything.
func (p *Prober) ask(ctx context.Context, stream monitor.StreamURL) (int, error) {
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

// withoutURL leaves the URL out of a client's error: it repeats the request.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("oEmbed not reached: %w", err)
}
