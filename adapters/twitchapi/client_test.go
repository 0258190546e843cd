package twitchapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clientID = "theclientidofanapplication0001"
	secret   = "thesecretofanapplication000001"
)

// answer is what a server says.
type answer struct {
	status int
	header map[string]string
	body   string
}

// streams is an answer with channels that are live.
func streams(logins ...string) answer {
	var all []string
	for _, login := range logins {
		all = append(all, fmt.Sprintf(`{"id":"41375541868","user_login":%q,"type":"live","title":"A \ntitle","started_at":"2026-11-30T10:00:00Z"}`, login))
	}
	return answer{status: 200, body: `{"data":[` + strings.Join(all, ",") + `],"pagination":{}}`}
}

// token is an answer with a token.
func token(access string, seconds int) answer {
	return answer{status: 200, body: fmt.Sprintf(`{"access_token":%q,"expires_in":%d,"token_type":"bearer"}`, access, seconds)}
}

func refusal(status int, message string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"error":"x","status":%d,"message":%q}`, status, message)}
}

// site answers in virtual time, without a network. It is both servers.
type site struct {
	mu      sync.Mutex
	tokens  []answer // in their order; the last one stays
	answers []answer
	asked   []string // token, or the token that a call had
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, what := &s.answers, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Host == "id.twitch.tv" {
		next, what = &s.tokens, "token"
	}
	s.asked = append(s.asked, what)
	a := (*next)[0]
	if len(*next) > 1 {
		*next = (*next)[1:]
	}
	header := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for name, value := range a.header {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// took returns what was asked since the last time.
func (s *site) took() []string {
	asked := s.asked
	s.asked = nil
	return asked
}

// inTime runs a test in virtual time with a client of a site.
func inTime(t *testing.T, s *site, test func(t *testing.T, ask func() officialstate.Response)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := twitchapi.New(&http.Client{Transport: s}, clientID, secret)
		test(t, func() officialstate.Response { return client.Ask(t.Context(), []string{"one", "two"}) })
	})
}

func TestTheStreamsOfHundredLoginsAreRead(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		expect.Equal(t, "the form", r.PostForm.Encode(), "client_id="+clientID+"&client_secret="+secret+"&grant_type=client_credentials")
		_, _ = io.WriteString(w, token("t1", 5_000_000).body)
	})
	var logins []string
	for n := range 100 {
		logins = append(logins, fmt.Sprintf("login_%d", n))
	}
	mux.HandleFunc("GET /helix/streams", func(w http.ResponseWriter, r *http.Request) {
		expect.Equal(t, "the headers", []string{r.Header.Get("Authorization"), r.Header.Get("Client-Id")}, []string{"Bearer t1", clientID})
		expect.Equal(t, "the logins, and the size of the page", []any{r.URL.Query()["user_login"], r.URL.Query().Get("first")}, []any{logins, "100"})
		if strings.Contains(r.RequestURI, "t1") || strings.Contains(r.RequestURI, secret) {
			t.Errorf("a secret is in the URL %s", r.RequestURI)
		}
		_, _ = io.WriteString(w, strings.Replace(streams("login_7", "login_8").body, `"login_8","type":"live"`, `"login_8","type":""`, 1))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	got := twitchapi.NewAt(server.URL+"/helix", server.URL+"/token", client, clientID, secret).Ask(t.Context(), logins)
	expect.Equal(t, "the response", got, officialstate.Response{Status: 200, Broadcasts: []officialstate.Broadcast{
		{ID: "login_7", State: "live", BroadcastID: "41375541868", Title: "A title", ActualStart: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)},
	}})
}

func TestATokenIsRenewedBeforeItExpiresAndOnceAfterARefusal(t *testing.T) {
	s := &site{tokens: []answer{token("t1", 1000), refusal(503, "x"), token("t2", 1000), token("t3", 1000)}, answers: []answer{streams(), streams(), streams(), streams(), refusal(401, "Invalid OAuth token"), streams()}}
	inTime(t, s, func(t *testing.T, ask func() officialstate.Response) {
		expect.Equal(t, "the failure", ask().Failure(), nil)
		expect.Equal(t, "first", s.took(), []string{"token", "t1"})
		time.Sleep(899 * time.Second)
		ask()
		expect.Equal(t, "before a tenth of its life is left", s.took(), []string{"t1"})
		time.Sleep(time.Second)
		ask()
		expect.Equal(t, "then, and no token is given: the old one goes on", s.took(), []string{"token", "t1"})
		time.Sleep(twitchapi.TokenRetry)
		ask()
		expect.Equal(t, "after the pause", s.took(), []string{"token", "t2"})
		expect.Equal(t, "the failure", ask().Failure(), nil)
		expect.Equal(t, "a token that is refused", s.took(), []string{"t2", "token", "t3"})
	})
}

func TestCredentialsThatAreRefusedAreNotAskedForAgainAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		token, answer answer
		want          officialstate.Failure
		asked         int // of three calls at once
		later         int // more, after the pause
	}{
		"a wrong id":     {refusal(400, "invalid client"), answer{}, officialstate.Failure{Kind: officialstate.KeyRefused, Detail: "HTTP 400: invalid client"}, 1, 1},
		"a wrong secret": {refusal(403, "invalid client secret "+secret), answer{}, officialstate.Failure{Kind: officialstate.KeyRefused, Detail: "HTTP 403: invalid client secret [hidden]"}, 1, 1},
		"every token is refused": {token("t1", 1000), refusal(401, "Invalid OAuth token t1"),
			officialstate.Failure{Kind: officialstate.KeyRefused, Detail: "HTTP 401: Invalid OAuth token [hidden]"}, 4 + 3 + 3, 3},
		"no token in the answer": {answer{status: 200, body: `{"status":200}`}, answer{}, officialstate.Failure{Kind: officialstate.Malformed, Detail: "HTTP 200: the response has no access token"}, 1, 1},
		"a proxy":                {answer{status: 403, body: "<html>"}, answer{}, officialstate.Failure{Kind: officialstate.Malformed, Detail: "HTTP 403: the response is none of the API"}, 1, 1},
		"a fault":                {refusal(503, "x"), answer{}, officialstate.Failure{Kind: officialstate.Unreachable, Detail: "HTTP 503: x"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{tokens: []answer{c.token}, answers: []answer{c.answer}}
			inTime(t, s, func(t *testing.T, ask func() officialstate.Response) {
				for range 3 {
					expect.Equal(t, "the failure", ask().Failure(), &c.want)
				}
				expect.Equal(t, "requests", len(s.took()), c.asked)
				time.Sleep(twitchapi.TokenRetry)
				ask()
				expect.Equal(t, "requests after the pause", len(s.took()), c.later)
			})
		})
	}
}

func TestNoCallIsMadeWithoutPoints(t *testing.T) {
	limit := func(a answer, remaining, reset string) answer {
		a.header = map[string]string{"Ratelimit-Limit": "800", "Ratelimit-Remaining": remaining, "Ratelimit-Reset": reset}
		return a
	}
	const start = 946_684_800 // of virtual time
	for name, c := range map[string]struct {
		answer answer
		kind   officialstate.FailureKind // of the first call
		wait   int                       // s
	}{
		"too many calls":                        {limit(refusal(429, "Too Many Requests"), "0", fmt.Sprint(start+17)), officialstate.RateLimited, 17},
		"the last point":                        {limit(streams(), "0", fmt.Sprint(start+17)), "", 17},
		"too many, and nothing says until when": {refusal(429, "Too Many Requests"), officialstate.RateLimited, 60},
		"a reset far away":                      {limit(refusal(429, "x"), "0", fmt.Sprint(start+86_400)), officialstate.RateLimited, 60},
		"a reset in the past":                   {limit(refusal(429, "x"), "0", fmt.Sprint(start-5)), officialstate.RateLimited, 1},
		"points are left":                       {limit(streams(), "799", fmt.Sprint(start+17)), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{tokens: []answer{token("t1", 5_000_000)}, answers: []answer{c.answer, streams()}}
			inTime(t, s, func(t *testing.T, ask func() officialstate.Response) {
				kind := func() officialstate.FailureKind {
					if f := ask().Failure(); f != nil {
						return f.Kind
					}
					return ""
				}
				expect.Equal(t, "the kind of failure", kind(), c.kind)
				if c.wait > 0 {
					time.Sleep(time.Duration(c.wait)*time.Second - time.Millisecond)
					expect.Equal(t, "the kind of failure before it", kind(), officialstate.RateLimited)
					expect.Equal(t, "calls", s.took(), []string{"token", "t1"})
					time.Sleep(time.Millisecond)
				}
				expect.Equal(t, "the kind of failure then", kind(), "")
			})
		})
	}
}

func TestWhatIsNoAnswerIsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		kind   officialstate.FailureKind
		detail string
	}{
		"a fault of the server":             {refusal(500, "x"), officialstate.Unreachable, "HTTP 500: x"},
		"a gateway's page":                  {answer{status: 502, body: "<html>"}, officialstate.Unreachable, "HTTP 502: the response is none of the API"},
		"a question that it refuses":        {refusal(400, "Malformed query params."), officialstate.Malformed, "HTTP 400: Malformed query params."},
		"a captive portal":                  {answer{status: 200, body: "<html>"}, officialstate.Malformed, "HTTP 200: the response is not a list of streams"},
		"other JSON":                        {answer{status: 200, body: `{"streams":[]}`}, officialstate.Malformed, "HTTP 200: the response is not a list of streams"},
		"data that is none":                 {answer{status: 200, body: `{"data":null}`}, officialstate.Malformed, "HTTP 200: the response is not a list of streams"},
		"a time that is none":               {answer{status: 200, body: `{"data":[{"id":"1","user_login":"one","started_at":"now"}]}`}, officialstate.Malformed, "HTTP 200: the response is not a list of streams"},
		"a channel that was not asked":      {streams("three"), officialstate.Malformed, "HTTP 200: the response has a stream that was not asked for"},
		"a redirect, which is not followed": {answer{status: 302, header: map[string]string{"Location": "https://elsewhere.example/"}}, officialstate.Malformed, "HTTP 302: the response is none of the API"},
		"too much":                          {answer{status: 200, body: strings.Repeat(" ", officialapi.MaxBody+1)}, officialstate.Malformed, "HTTP 200: the response has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{tokens: []answer{token("t1", 5_000_000)}, answers: []answer{c.answer}}
			inTime(t, s, func(t *testing.T, ask func() officialstate.Response) {
				expect.Equal(t, "the failure", ask().Failure(), &officialstate.Failure{Kind: c.kind, Detail: c.detail})
				expect.Equal(t, "requests", s.took(), []string{"token", "t1"})
			})
		})
	}
}

func TestAHungServerHoldsNobodyUp(t *testing.T) {
	for host, want := range map[string]time.Duration{"id.twitch.tv": officialapi.Timeout, "api.twitch.tv": officialapi.Timeout} {
		synctest.Test(t, func(t *testing.T) {
			s := &site{tokens: []answer{token("t1", 1000)}, answers: []answer{streams()}}
			client := twitchapi.New(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == host {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return s.RoundTrip(r)
			})}, clientID, secret)
			began := time.Now()
			got := client.Ask(t.Context(), []string{"one"})
			expect.Equal(t, "it took", time.Since(began), want)
			expect.Equal(t, "the failure", got.Failure(), &officialstate.Failure{Kind: officialstate.Unreachable, Detail: "the API was not reached: context deadline exceeded"})
		})
	}
}

func TestCallsAtOnceShareOneToken(t *testing.T) {
	s := &site{tokens: []answer{token("t1", 1000)}, answers: []answer{streams()}}
	inTime(t, s, func(_ *testing.T, ask func() officialstate.Response) {
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { ask() })
		}
		calls.Wait()
	})
	expect.Equal(t, "tokens asked for", len(slices.DeleteFunc(s.took(), func(what string) bool { return what != "token" })), 1)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
