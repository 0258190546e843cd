// Package officialapi makes calls to the official APIs of sources. One call takes at most Timeout and MaxBody, follows no redirect, and
// removes its secrets from what it returns. Package domain/officialstate says what a response means.
package officialapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Limits of one call.
const (
	Timeout = 10 * time.Second // the whole exchange, body included
	MaxBody = 1 << 20          // bytes; 50 videos take about 15 KB, 100 streams about 70 KB
)

// NoneOfTheAPI is the detail of a response that another server has sent.
const NoneOfTheAPI = "the response is none of the API"

// Caller makes calls. It may be used concurrently.
type Caller struct{ client http.Client }

// NewCaller returns a Caller that uses client with its proxies and certificates (decision O8). It follows no redirect: what is
// secret would be sent along.
func NewCaller(client *http.Client) Caller {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return Caller{c}
}

// Call is one call: a GET, or with a Form or a JSON a POST.
type Call struct {
	Method  string // another one; empty: GET or POST
	URL     string
	Form    url.Values
	JSON    any
	Header  http.Header // what is beside Accept and Content-Type
	Secrets []string    // that no error may contain

	// Read reads the body of a response with a status of 2xx, Refused that of any other. A Refused without reasons
	// says that something other than the API has answered.
	Read    func(body []byte) error
	Refused func(status int, body []byte) (reasons []string, detail string)

	// Answered gets the header of every response; nil: nothing in it is needed.
	Answered func(status int, header http.Header)
}

// Make makes a call. It blocks for at most Timeout. The response has no Broadcasts.
func (c Caller) Make(ctx context.Context, one Call) officialstate.Response {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := c.exchange(ctx, one)
	if err != nil {
		r.Detail = err.Error()
	}
	r.Detail = outbound.OneLine(outbound.Redactor(one.Secrets...)(r.Detail))
	return r
}

// exchange makes a call. Errors: no response, or one that another server has sent.
func (c Caller) exchange(ctx context.Context, one Call) (r officialstate.Response, err error) {
	req, err := one.request(ctx)
	if err != nil {
		return r, fmt.Errorf("make the request: %w", err)
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
	if one.Answered != nil {
		one.Answered(resp.StatusCode, resp.Header)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return r, fmt.Errorf("the response breaks off: %w", err)
	case len(body) > MaxBody:
		return r, fmt.Errorf("the response has more than %d bytes", MaxBody)
	case r.Status/100 == 2:
		err = one.Read(body)
	default:
		r.Reasons, r.Detail = one.Refused(r.Status, body)
	}
	return r, err
}

// request returns the request of the call.
func (one Call) request(ctx context.Context) (*http.Request, error) {
	method, content, body := http.MethodGet, "", []byte(nil)
	switch {
	case one.Form != nil:
		method, content, body = http.MethodPost, "application/x-www-form-urlencoded", []byte(one.Form.Encode())
	case one.JSON != nil:
		var err error
		if body, err = json.Marshal(one.JSON); err != nil {
			return nil, err
		}
		method, content = http.MethodPost, "application/json"
	}
	if one.Method != "" {
		method = one.Method
	}
	req, err := http.NewRequestWithContext(ctx, method, one.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if one.Header != nil {
		req.Header = one.Header.Clone()
	}
	req.Header.Set("Accept", "application/json")
	if content != "" {
		req.Header.Set("Content-Type", content)
	}
	return req, nil
}

// GrantedToken is an access token, as RFC 6749 has it (section 5.1).
type GrantedToken struct {
	Access string
	Life   time.Duration
}

// ReadToken reads the body of an answer that grants a token. Errors: it has none.
func ReadToken(body []byte) (GrantedToken, error) {
	var granted struct {
		Access string `json:"access_token"`
		Life   int    `json:"expires_in"` // s
	}
	if err := json.Unmarshal(body, &granted); err != nil || granted.Access == "" {
		return GrantedToken{}, errors.New("the response has no access token")
	}
	return GrantedToken{granted.Access, time.Duration(granted.Life) * time.Second}, nil
}

// Fingerprint returns what tells a secret from another. It does not reveal one that has at least 30 random characters: nobody can try them all.
func Fingerprint(secret string) string {
	sum := sha256.Sum256([]byte("stream-monitor official api\x00" + secret))
	return hex.EncodeToString(sum[:8])
}
