package youtubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Limits of one call.
const (
	Timeout = 10 * time.Second // the whole exchange, body included
	MaxBody = 1 << 20          // bytes; 50 videos take about 15 KB
)

// caller makes calls. It may be used concurrently.
type caller struct{ client http.Client }

// newCaller returns a caller that uses client with its proxies and certificates (decision O8). It follows no redirect: what is
// secret would be sent along.
func newCaller(client *http.Client) caller {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return caller{c}
}

// call is one call.
type call struct {
	url     string
	form    url.Values  // of a POST; nil: it is a GET
	header  http.Header // what is beside Accept and Content-Type
	secrets []string    // that no error may contain
	read    func(body []byte) error
	refused func(body []byte) (reasons []string, detail string)
}

// make makes a call. It blocks for at most Timeout. The response has no Videos.
func (c caller) make(ctx context.Context, one call) officialstate.Response {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := c.exchange(ctx, one)
	if err != nil {
		r.Detail = err.Error()
	}
	r.Detail = outbound.OneLine(outbound.Redactor(one.secrets...)(r.Detail))
	return r
}

// exchange makes a call. Errors: no response, or one that another server has sent.
func (c caller) exchange(ctx context.Context, one call) (r officialstate.Response, err error) {
	method, form := http.MethodGet, ""
	if one.form != nil {
		method, form = http.MethodPost, one.form.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, one.url, strings.NewReader(form))
	if err != nil {
		return r, fmt.Errorf("make the request: %w", err)
	}
	if one.header != nil {
		req.Header = one.header
	}
	req.Header.Set("Accept", "application/json")
	if one.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err // the URL has only ids
		}
		return r, fmt.Errorf("the API was not reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	r.Status = resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return r, fmt.Errorf("the response breaks off: %w", err)
	case len(body) > MaxBody:
		return r, fmt.Errorf("the response has more than %d bytes", MaxBody)
	case r.Status == http.StatusOK:
		err = one.read(body)
	default:
		r.Reasons, r.Detail = one.refused(body)
	}
	return r, err
}

// tag matches a tag of HTML, which the messages of some refusals have.
var tag = regexp.MustCompile(`<[^>]*>`)

const noneOfTheAPI = "the response is none of the API"

// readRefusal reads the body of a refusal. A body of another server has no reasons.
func readRefusal(body []byte) (reasons []string, detail string) {
	var refusal struct {
		Error struct {
			Message, Status string
			Errors, Details []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(body, &refusal); err != nil {
		return nil, noneOfTheAPI
	}
	for _, e := range append(refusal.Error.Errors, refusal.Error.Details...) {
		if e.Reason != "" {
			reasons = append(reasons, e.Reason)
		}
	}
	if refusal.Error.Status != "" {
		reasons = append(reasons, refusal.Error.Status)
	}
	if len(reasons) == 0 {
		return nil, noneOfTheAPI
	}
	return reasons, reasons[0] + ": " + tag.ReplaceAllString(refusal.Error.Message, "")
}
