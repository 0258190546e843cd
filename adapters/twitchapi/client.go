package twitchapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// The places of the API, and of its tokens.
const (
	service = "https://api.twitch.tv/helix"
	tokens  = "https://id.twitch.tv/oauth2/token" //nolint:gosec // a URL
)

// TokenRetry is how long a failure to get a token answers for all calls.
const TokenRetry = 30 * time.Second

// minLife is the shortest life of a token that is believed.
const minLife = time.Minute

// maxWait is the longest time without calls that an answer can ask for; the points are those of a minute.
const maxWait = time.Minute

// Client asks the API. It may be used concurrently. All uses of one application share one Client.
type Client struct {
	caller          officialapi.Caller
	service, tokens string
	id, secret      string

	token struct {
		sync.Mutex // also while a token is asked for
		access     string
		renewAt    time.Time
		expiresAt  time.Time
		failure    officialstate.Response // why the newest question for one failed
		retryAt    time.Time              // when to ask again after it
	}
	limit struct {
		sync.Mutex
		until time.Time // no call is made before
	}
}

// New returns a Client that uses client with its proxies and certificates (decision O8), and the id and the secret of an application.
func New(client *http.Client, id, secret string) *Client {
	return newAt(service, tokens, client, id, secret)
}

func newAt(service, tokens string, client *http.Client, id, secret string) *Client {
	return &Client{caller: officialapi.NewCaller(client), service: service, tokens: tokens, id: id, secret: secret}
}

// Fingerprint returns what tells the credentials of an application from others, also after its secret was changed. It does not reveal the secret.
func Fingerprint(id, secret string) string { return officialapi.Fingerprint(id + "\x00" + secret) }

// call makes a call of the API with the app access token. one has the path with its query in place of a URL, and no Header,
// Secrets or Refused. It blocks for at most four times officialapi.Timeout: for the call, a token, and both again after a 401.
func (c *Client) call(ctx context.Context, one officialapi.Call) officialstate.Response {
	one.URL, one.Refused, one.Answered = c.service+one.URL, readRefusal, c.noteLimit
	for again := false; ; again = true {
		if wait := c.wait(); wait > 0 {
			return officialstate.Response{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf("the application has no points for %.0f s", wait.Seconds())}
		}
		access, r := c.access(ctx)
		if access == "" {
			return r
		}
		one.Header = http.Header{"Authorization": {"Bearer " + access}, "Client-Id": {c.id}}
		one.Secrets = []string{access, c.secret}
		r = c.caller.Make(ctx, one)
		if r.Status != http.StatusUnauthorized || again {
			return r
		}
		c.discard(access)
	}
}

// access returns an access token that works at present, or the response that refused one. Callers wait for one that asks.
func (c *Client) access(ctx context.Context) (string, officialstate.Response) {
	t := &c.token
	t.Lock()
	defer t.Unlock()
	if now := time.Now(); !now.Before(t.renewAt) && !now.Before(t.retryAt) {
		c.renew(ctx, now)
	}
	if time.Now().Before(t.expiresAt) {
		return t.access, officialstate.Response{}
	}
	return "", t.failure
}

// renew asks for a token. One that still works stays if there is no other.
func (c *Client) renew(ctx context.Context, now time.Time) {
	var granted officialapi.GrantedToken
	t := &c.token
	t.failure = c.caller.Make(ctx, officialapi.Call{
		URL:     c.tokens,
		Form:    url.Values{"grant_type": {"client_credentials"}, "client_id": {c.id}, "client_secret": {c.secret}},
		Secrets: []string{c.secret}, Refused: readRefusal,
		Read: func(body []byte) (err error) {
			granted, err = officialapi.ReadToken(body)
			return err
		},
	})
	switch life := max(granted.Life, minLife); {
	case granted.Access != "":
		t.access, t.renewAt, t.expiresAt = granted.Access, now.Add(life*9/10), now.Add(life)
	case ctx.Err() == nil:
		t.retryAt = now.Add(TokenRetry)
	}
}

// discard forgets a token that was refused.
func (c *Client) discard(access string) {
	c.token.Lock()
	defer c.token.Unlock()
	if c.token.access == access {
		c.token.renewAt, c.token.expiresAt = time.Time{}, time.Time{}
	}
}

// wait returns for how long no call may be made; 0: one may be.
func (c *Client) wait() time.Duration {
	c.limit.Lock()
	defer c.limit.Unlock()
	return max(0, time.Until(c.limit.until))
}

// noteLimit notes until when no call may be made, by the header of a response.
func (c *Client) noteLimit(status int, h http.Header) {
	if left := h.Get("Ratelimit-Remaining"); left != "0" && (left != "" || status != http.StatusTooManyRequests) {
		return // also a 429 while points are left: it concerns the question
	}
	wait := maxWait
	reset, err := strconv.ParseInt(h.Get("Ratelimit-Reset"), 10, 64)
	if date, dated := http.ParseTime(h.Get("Date")); err == nil && dated == nil {
		wait = min(max(time.Unix(reset, 0).Sub(date), time.Second), maxWait) // both by the clock of the API
	}
	c.limit.Lock()
	defer c.limit.Unlock()
	c.limit.until = time.Now().Add(wait)
}

// readRefusal reads the body of a refusal. Only one of the credentials has a reason: any other concerns the question.
func readRefusal(status int, body []byte) (reasons []string, detail string) {
	var refusal struct {
		Error   string
		Status  int
		Message string
	}
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Status != status {
		return nil, officialapi.NoneOfTheAPI
	}
	detail = cmp.Or(refusal.Message, refusal.Error, "no reason is given")
	if status == http.StatusUnauthorized || status == http.StatusForbidden || refusal.Message == "invalid client" {
		reasons = []string{detail}
	}
	return reasons, detail
}
