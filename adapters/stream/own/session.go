package own

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// session makes the requests of one stream with its credentials. It is a stream.Requester, and may be used concurrently.
type session struct {
	url      string // of the stream, without its query
	requests stream.Requester
	reader   worker.PlaylistReader // of what the session gets

	asking sync.Mutex // held while the token URL is asked

	mu      sync.Mutex
	secret  monitor.StreamSecret
	jar     cookie.Jar // of which cookies are
	cookies []watch.Cookie
	renewal monitor.TokenRenewal
	sentTo  []string // credentials.sentTo
}

// maxSentTo limits how many of the newest URLs are known to which the server has sent a query. Load balancers have a few.
const maxSentTo = 32

func newSession(t stream.Tools, u monitor.StreamURL) *session {
	s := &session{url: u.ID(), requests: t.Own}
	s.reader = t.Manifests(s)
	return s
}

// learn takes the secret and the cookies that the context of a question or a reading carries.
func (s *session) learn(ctx context.Context) {
	secret, lent := request.LentSecret(ctx)
	if !lent {
		return // it is made for evidence
	}
	var jar cookie.Jar
	if lender := request.CookiesOf(ctx); lender != nil {
		jar = lender.Jar()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if secret.TokenURL != s.secret.TokenURL {
		s.renewal = monitor.TokenRenewal{}
	}
	s.secret = secret
	if jar != s.jar {
		s.jar, s.cookies = jar, cookiesOf(jar, time.Now())
	}
}

// cookiesOf returns the cookies of a jar that have not expired.
func cookiesOf(jar cookie.Jar, now time.Time) (all []watch.Cookie) {
	file, err := cookie.Parse(string(jar.Text))
	if err != nil {
		return nil
	}
	for _, c := range file {
		if c.Expires == 0 || c.Expires > now.Unix() {
			all = append(all, watch.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure})
		}
	}
	return all
}

// credentials are what the requests of one moment carry.
type credentials struct {
	url    string // of the stream
	query  string
	copied bool     // the query goes with every request to the origin of url
	sentTo []string // URLs of the origin of url to which its server has redirected the query; without it
	header *watch.RequestHeader
	token  monitor.Token
}

// goWith reports whether the query goes with a URL.
func (c credentials) goWith(rawURL string) bool {
	address, _, _ := strings.Cut(rawURL, "#")
	return c.query != "" && (address == c.url || slices.Contains(c.sentTo, address) || c.copied && sameOrigin(address, c.url))
}

// sign adds the query to a URL with which it goes.
func (c credentials) sign(rawURL string) string {
	if c.goWith(rawURL) {
		return withQuery(rawURL, c.query)
	}
	return rawURL
}

// signSegment signs all URLs of a segment.
func (c credentials) signSegment(s watch.Segment) watch.Segment {
	key := func(k *watch.Key) *watch.Key {
		if k == nil {
			return nil
		}
		return &watch.Key{URI: c.sign(k.URI), IV: k.IV}
	}
	all := func(urls []string) (signed []string) {
		for _, one := range urls {
			signed = append(signed, c.sign(one))
		}
		return signed
	}
	s.URI, s.Mirrors, s.Key = c.sign(s.URI), all(s.Mirrors), key(s.Key)
	if s.Init != nil {
		s.Init = &watch.Init{URI: c.sign(s.Init.URI), Mirrors: all(s.Init.Mirrors), Range: s.Init.Range, Key: key(s.Init.Key)}
	}
	return s
}

// none reports whether there are no credentials at all.
func (c credentials) none() bool { return c.query == "" && c.header == nil }

func sameOrigin(a, b string) bool {
	first, err := url.Parse(a)
	second, otherErr := url.Parse(b)
	return err == nil && otherErr == nil && watch.OriginOf(first) == watch.OriginOf(second)
}

// current returns what requests carry now. mu is held.
func (s *session) current() credentials {
	c := credentials{url: s.url, query: cmp.Or(s.renewal.Token.Query, s.secret.Query), copied: s.secret.CopyQuery, sentTo: s.sentTo, token: s.renewal.Token}
	fields := maps.Clone(s.secret.Headers)
	if len(c.token.Headers) > 0 {
		if fields == nil {
			fields = map[string]string{}
		}
		maps.Copy(fields, c.token.Headers)
	}
	c.header = watch.OwnRequestHeader(fields, s.url)
	if len(s.cookies) > 0 {
		if c.header == nil {
			c.header = &watch.RequestHeader{}
		}
		c.header.Cookies = s.cookies
	}
	return c
}

// credentials returns what a request carries. It first asks the token URL if that is due. Error, a *watch.Failure: there is no
// token yet, and none was to be had.
func (s *session) credentials(ctx context.Context) (credentials, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	c, tokenURL, due := s.current(), s.secret.TokenURL, s.renewal.Due(time.Now())
	s.mu.Unlock()
	if tokenURL == "" {
		return c, nil
	}
	if due {
		began := time.Now()
		token, failure := s.askToken(ctx, tokenURL, c, began)
		s.mu.Lock()
		switch {
		case s.secret.TokenURL != tokenURL: // changed meanwhile
		case failure == "":
			s.renewal.Take(token)
		default:
			s.renewal.Fail(time.Now(), failure)
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewal.Token.AskedAt.IsZero() {
		return c, watch.NewFailure(watch.FailureNetwork, "the token URL has given no token: %s", s.renewal.Failure)
	}
	return s.current(), nil
}

// askToken asks the token URL. failure says why it gave none, and has no part of its URL but the host.
func (s *session) askToken(ctx context.Context, tokenURL string, c credentials, began time.Time) (token monitor.Token, failure string) {
	ctx, cancel := context.WithTimeout(ctx, monitor.TokenTimeout)
	defer cancel()
	answer, _, err := s.requests.Get(request.WithHeader(ctx, c.header), tokenURL, monitor.MaxTokenAnswer)
	if err != nil {
		return token, detailOf(err)
	}
	token, err = monitor.ReadToken(answer, began)
	if err != nil {
		return monitor.Token{}, "its answer " + err.Error()
	}
	return token, ""
}

func detailOf(err error) string {
	if failure, ok := errors.AsType[*watch.Failure](err); ok {
		return failure.Detail
	}
	return "it could not be asked"
}

// send makes a request for a URL, and once more if its server refuses a token and another can be had.
func (s *session) send(ctx context.Context, rawURL string, do func(context.Context, credentials) error) error {
	c, err := s.credentials(ctx)
	if err != nil {
		return err
	}
	err = do(request.WithHeader(ctx, c.header), c)
	if s.note(c, rawURL, err) {
		if renewed, tokenErr := s.credentials(ctx); tokenErr == nil && !renewed.token.AskedAt.Equal(c.token.AskedAt) {
			c = renewed
			err = do(request.WithHeader(ctx, c.header), c)
			s.note(c, rawURL, err)
		}
	}
	return s.explain(c, rawURL, err)
}

// denied reports whether a server refuses the credentials of a request. Some say so by 410 (Gone) of a query that is used up.
// A server may also give the URLs in a manifest a query of their own, for a session. If that is all that a request carried, only
// the manifest itself tells whether anybody is let in: read again, it names another session.
func (c credentials) denied(rawURL string, err error) bool {
	failure, ok := errors.AsType[*watch.Failure](err)
	if !ok {
		return false
	}
	_, query, _ := strings.Cut(rawURL, "?")
	carried := c.goWith(rawURL) || c.header != nil && sameOrigin(rawURL, c.url)
	switch failure.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return carried || query == ""
	case http.StatusGone:
		return c.goWith(rawURL)
	}
	return false
}

// note tells the renewal of the token that a server has refused a request that carried it. It reports whether a new one may help.
func (s *session) note(c credentials, rawURL string, err error) bool {
	if c.token.AskedAt.IsZero() || !sameOrigin(rawURL, s.url) || !c.denied(rawURL, err) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewal.Refused(c.token, time.Now())
	return true
}

// explain says of a refusal what was refused.
func (s *session) explain(c credentials, rawURL string, err error) error {
	failure, ok := errors.AsType[*watch.Failure](err)
	if !ok || !c.denied(rawURL, err) {
		return err
	}
	explained := *failure
	explained.Kind = watch.FailureDenied
	s.mu.Lock()
	unrenewed := s.renewal.Failure
	s.mu.Unlock()
	why := "the server refuses the credentials of the stream"
	switch {
	case c.token.Expired(time.Now()):
		explained.Kind = watch.FailureToken
		why = "the token expired at " + c.token.ExpiresAt.UTC().Format(time.RFC3339)
	case !c.token.AskedAt.IsZero():
		why = "the server refuses the token"
	case c.none():
		why = "the server wants credentials, and the stream has none"
	}
	if unrenewed != "" {
		why += ", and the token URL has given no other: " + unrenewed
	}
	explained.Detail = fmt.Sprintf("%s: %s", failure.Detail, why)
	return &explained
}

// arrive takes the query off the URL at which a request for another one has ended. If the server has redirected the query there,
// it goes there from now on, too: the manifest of DASH is read there again.
func (s *session) arrive(c credentials, rawURL, finalURL string) string {
	address := withoutQuery(finalURL, c.query)
	if address != finalURL && c.goWith(rawURL) && !c.goWith(address) && sameOrigin(address, c.url) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sentTo = append(s.sentTo[max(0, len(s.sentTo)-maxSentTo+1):], address)
	}
	return address
}

// Get implements stream.Getter.
func (s *session) Get(ctx context.Context, url string, limit int64) (body []byte, from reference.Origin, err error) {
	err = s.send(ctx, url, func(ctx context.Context, c credentials) (err error) {
		body, from, err = s.requests.Get(ctx, c.sign(url), limit)
		from.URL = s.arrive(c, url, from.URL)
		return err
	})
	return body, from, err
}

// Head implements stream.Getter.
func (s *session) Head(ctx context.Context, url string) (from reference.Origin, err error) {
	err = s.send(ctx, url, func(ctx context.Context, c credentials) (err error) {
		from, err = s.requests.Head(ctx, c.sign(url))
		from.URL = withoutQuery(from.URL, c.query)
		return err
	})
	return from, err
}

// FetchSegment implements worker.SegmentFetcher.
func (s *session) FetchSegment(ctx context.Context, segment watch.Segment) (body io.ReadCloser, err error) {
	err = s.send(ctx, segment.URI, func(ctx context.Context, c credentials) (err error) {
		body, err = s.requests.FetchSegment(ctx, c.signSegment(segment))
		return err
	})
	return body, err
}

// ReadPlaylist implements worker.PlaylistReader. No site sells advertisements in a stream of one's own: what looks like one is the
// broadcaster's media.
func (s *session) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	s.learn(ctx)
	p := s.reader.ReadPlaylist(ctx, url)
	for i := range p.Segments {
		p.Segments[i].Ad = false
	}
	return p
}
