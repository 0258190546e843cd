package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Limits of a token URL (section 5.7).
const (
	MaxTokenURL    = 2 << 10          // bytes
	MaxTokenAnswer = 64 << 10         // bytes
	TokenTimeout   = 10 * time.Second // of one question
)

const (
	longestTokenMargin = time.Minute     // before its expiry, at which a token is renewed
	shortestTokenUse   = 5 * time.Second // between two questions that no refusal asks for; a token that is refused later has helped
)

// tokenBackoff is the wait after questions without a token, and after new tokens that are refused as well.
var tokenBackoff = backoff.Policy{First: 5 * time.Second, Max: time.Minute}

// Token is what a token URL has given for the requests of a stream. No log and no answer has it.
type Token struct {
	Query     string            // takes the place of the secret query, with its question mark; "": that stays
	Headers   map[string]string // win over those of the registration; by their names in lower case
	AskedAt   time.Time
	ExpiresAt time.Time // zero: it is not stated
}

// String hides the token from whoever prints it.
func (Token) String() string { return "…" }

// GoString hides the token from whoever prints it with %#v.
func (Token) GoString() string { return "…" }

// Expired reports whether a token says that it is used up at a time.
func (t Token) Expired(at time.Time) bool { return !t.ExpiresAt.IsZero() && !at.Before(t.ExpiresAt) }

// ReadToken reads the answer of a token URL that was asked at a time. It is a line of text, the query, or a JSON object with query,
// headers or both. expires_at (RFC 3339, or seconds since 1970) or expires_in (seconds) may say how long they work. An error says what is
// wrong, and quotes nothing of the answer.
func ReadToken(answer []byte, askedAt time.Time) (Token, error) {
	text := strings.TrimSpace(string(answer))
	if !strings.HasPrefix(text, "{") {
		query, err := tokenQuery(text)
		if err == nil && query == "" {
			err = fmt.Errorf("is empty; %s", expectedAnswer)
		}
		return Token{Query: query, AskedAt: askedAt}, err
	}
	var given struct {
		Query     string             `json:"query"`
		Headers   map[string]*string `json:"headers"`
		ExpiresAt json.RawMessage    `json:"expires_at"`
		ExpiresIn *float64           `json:"expires_in"`
	}
	if json.Unmarshal([]byte(text), &given) != nil {
		return Token{}, fmt.Errorf("is no such JSON; %s", expectedAnswer)
	}
	var secret StreamSecret
	if refused := secret.SetHeaders(given.Headers, Source{}); len(refused) > 0 {
		return Token{}, fmt.Errorf("has headers that no request may carry; %s", expectedAnswer)
	}
	query, err := tokenQuery(given.Query)
	if err != nil {
		return Token{}, err
	}
	t := Token{Query: query, Headers: secret.Headers, AskedAt: askedAt}
	switch {
	case query == "" && len(t.Headers) == 0:
		return Token{}, fmt.Errorf("has neither query nor headers; %s", expectedAnswer)
	case given.ExpiresAt != nil && string(given.ExpiresAt) != "null":
		t.ExpiresAt, err = tokenTime(given.ExpiresAt)
	case given.ExpiresIn != nil && (*given.ExpiresIn < 0 || *given.ExpiresIn > maxTokenSeconds):
		err = fmt.Errorf("has an expires_in that is no number of seconds; %s", expectedAnswer)
	case given.ExpiresIn != nil:
		t.ExpiresAt = askedAt.Add(time.Duration(*given.ExpiresIn * float64(time.Second)))
	}
	return t, err
}

const (
	expectedAnswer  = `expected is {"query": "…", "headers": {…}, "expires_in": seconds} or the query as text`
	maxTokenSeconds = 100 * 365 * 24 * 3600
)

// tokenQuery returns a query with its question mark; "" for an empty one.
func tokenQuery(text string) (string, error) {
	text = strings.TrimPrefix(text, "?")
	if _, err := url.ParseQuery(text); err != nil || len(text) > MaxHeaderBytes || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '<' }) {
		return "", fmt.Errorf("has no query of a URL of at most %d bytes; %s", MaxHeaderBytes, expectedAnswer)
	}
	if text != "" {
		text = "?" + text
	}
	return text, nil
}

func tokenTime(raw json.RawMessage) (time.Time, error) {
	var at time.Time
	var seconds float64
	switch {
	case json.Unmarshal(raw, &at) == nil && ValidTime("expires_at", at) == nil:
		return at, nil
	case json.Unmarshal(raw, &seconds) == nil && seconds > 0 && seconds < math.MaxInt32*16:
		return time.Unix(int64(seconds), 0), nil
	}
	return time.Time{}, fmt.Errorf("has an expires_at that is no time; %s", expectedAnswer)
}

// TokenRenewal decides when the token URL of a stream is asked. The zero value has no token yet.
//
//	no token yet                          ▶ at once
//	a quarter of its life before it ends,
//	at most longestTokenMargin            ▶ before the next request
//	a server refuses what had the token   ▶ once at once; a new one that is refused within shortestTokenUse, whatever else is let
//	                                        in with it: tokenBackoff after the last question
//	the token URL gave none               ▶ tokenBackoff after the end of the last question; the old one is used until then
type TokenRenewal struct {
	Token    Token
	Failure  string    // of the newest question; "": it gave a token
	askedAt  time.Time // when the newest question was asked; of one that gave no token, when it had ended
	failures int       // questions in a row that gave no token
	refusals int       // tokens in a row that a server has refused, all but the first within shortestTokenUse
	refused  bool
}

// AskAt returns from when on the token URL is to be asked before the next request; zero: now. ok is false while nothing asks
// for it.
func (r *TokenRenewal) AskAt() (at time.Time, ok bool) {
	switch {
	case r.askedAt.IsZero():
		return at, true
	case r.failures > 0:
		return r.askedAt.Add(tokenBackoff.Delay(r.failures)), true
	case r.refused && r.refusals == 1:
		return at, true
	}
	if r.refused {
		at = r.askedAt.Add(tokenBackoff.Delay(r.refusals))
	}
	if !r.Token.ExpiresAt.IsZero() {
		margin := min(longestTokenMargin, max(0, r.Token.ExpiresAt.Sub(r.Token.AskedAt)/4))
		at = instant.Earliest(at, instant.Latest(r.Token.ExpiresAt.Add(-margin), r.askedAt.Add(shortestTokenUse)))
	}
	return at, !at.IsZero()
}

// Due reports whether the token URL is to be asked before a request at a time.
func (r *TokenRenewal) Due(now time.Time) bool {
	at, ok := r.AskAt()
	return ok && !now.Before(at)
}

// Take takes a token that the token URL has given.
func (r *TokenRenewal) Take(t Token) {
	r.Token, r.Failure, r.askedAt, r.failures, r.refused = t, "", t.AskedAt, 0, false
}

// Fail notes that a question to the token URL has ended at a time without a token.
func (r *TokenRenewal) Fail(at time.Time, failure string) {
	r.askedAt, r.Failure = at, failure
	r.failures++
}

// Refused notes that a server has refused a request with a token at a time. A refusal of an older token says nothing.
func (r *TokenRenewal) Refused(with Token, at time.Time) {
	if !with.AskedAt.Equal(r.Token.AskedAt) || r.refused {
		return
	}
	if at.Sub(with.AskedAt) >= shortestTokenUse {
		r.refusals = 0
	}
	r.refused = true
	r.refusals++
}
