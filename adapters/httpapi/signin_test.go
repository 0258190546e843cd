package httpapi_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const sessionURL = "/api/v1/session"

// signInWith sends a key to sign in, from an address if it is not empty.
func (api *testAPI) signInWith(key, address string, change ...func(*http.Request)) response {
	api.t.Helper()
	r := newRequest("POST", sessionURL, strings.NewReader(fmt.Sprintf(`{"api_key":%q}`, key)))
	r.Header.Del(publicKeyHeader)
	if address != "" {
		r.RemoteAddr = address
	}
	for _, c := range change {
		c(r)
	}
	return api.do(r)
}

// signIn returns the cookie of a new session.
func (api *testAPI) signIn() *http.Cookie {
	api.t.Helper()
	return api.signInWith(apiKey, "").hasStatus(http.StatusNoContent).cookie()
}

// cookie returns the cookie that a response sets.
func (a response) cookie() *http.Cookie {
	a.t.Helper()
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 || cookies[0].Name != "stream_monitor_session" {
		a.t.Fatalf("the cookies are %v", cookies)
	}
	return cookies[0]
}

// sessionRequest returns a request with a cookie instead of a key, and headers in pairs.
func sessionRequest(c *http.Cookie, method, path string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.AddCookie(c)
	withHeader(headers...)(nil, r)
	return r
}

func (api *testAPI) withSession(c *http.Cookie, method, path string, headers ...string) response {
	api.t.Helper()
	return api.do(sessionRequest(c, method, path, headers...))
}

func TestASessionStandsForTheKey(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	cookie := api.signIn()
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || cookie.Domain != "" || cookie.MaxAge < 12*60*60-1 || cookie.MaxAge > 12*60*60 {
		t.Errorf("the cookie is %v", cookie)
	}
	if strings.Contains(cookie.Value, apiKey) {
		t.Error("the cookie contains the key")
	}
	api.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
	api.withSession(cookie, http.MethodGet, sessionURL).hasStatus(http.StatusOK).hasBody(`{"expires_at":"2024-01-16T07:55:00+09:00","sign_in_again_at":"2024-01-22T19:55:00+09:00","name":"API_KEY","role":"admin"}`)
	api.withSession(api.signInWith(api.createKey("ann", "view"), "").cookie(), http.MethodGet, sessionURL).hasStatus(http.StatusOK).hasBody(`{"expires_at":"2024-01-16T07:55:00+09:00","sign_in_again_at":"2024-01-22T19:55:00+09:00","name":"ann","role":"view"}`)
	api.withSession(cookie, http.MethodDelete, "/api/v1/monitors/"+string(id)).hasStatus(http.StatusOK)
	other := newTestAPI(t, besides(api, "")) // another gateway with the same keys
	other.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
}

func TestASessionIsNoKeyForWorkers(t *testing.T) {
	api := newTestAPI(t)
	api.withSession(api.signIn(), http.MethodGet, "/internal/v1/monitors/"+noSuchID).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
}

func TestAWrongKeyGivesNoSession(t *testing.T) {
	api := newTestAPI(t)
	for _, key := range []string{"wrong", apiKey + " ", strings.ToUpper(apiKey), internalAPIKey} {
		api.signInWith(key, "").hasError(http.StatusUnauthorized, "UNAUTHORIZED", "api_key is wrong").hasHeaders("Set-Cookie", "")
	}
	api.signInWith("", "").hasError(http.StatusBadRequest, "INVALID_CONFIG")
}

func TestOnlyWholeUnexpiredCookiesOfThisKeyAreAccepted(t *testing.T) {
	api := newTestAPI(t)
	cookie := api.signIn()
	accepted := func(value string) bool {
		return api.withSession(&http.Cookie{Name: cookie.Name, Value: value}, http.MethodGet, "/api/v1/monitors").status == http.StatusOK
	}
	raw := must.Get(base64.RawURLEncoding.DecodeString(cookie.Value))(t)
	for i := range raw {
		tampered := slices.Clone(raw)
		tampered[i] ^= 1
		if accepted(base64.RawURLEncoding.EncodeToString(tampered)) {
			t.Fatalf("a change of byte %d is not noticed", i)
		}
	}
	for _, value := range []string{"", "x", cookie.Value + "A", cookie.Value[1:], cookie.Value + "=", strings.Repeat("A", len(cookie.Value))} {
		if accepted(value) {
			t.Errorf("the value %q is accepted", value)
		}
	}
	for _, key := range []string{"another key", apiKey + "2"} {
		changed := newTestAPI(t, besides(api, key))
		changed.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasError(http.StatusUnauthorized, "UNAUTHORIZED")
	}
	api.at = now.Add(12*time.Hour - time.Second)
	if !accepted(cookie.Value) {
		t.Error("the session ends early")
	}
	api.at = now.Add(12 * time.Hour)
	if accepted(cookie.Value) {
		t.Error("the session outlives its end")
	}
}

// TestAWrongKeyIsNotHealedByASession: a client with a wrong key must learn it.
func TestAWrongKeyIsNotHealedByASession(t *testing.T) {
	api := newTestAPI(t)
	api.withSession(api.signIn(), http.MethodGet, "/api/v1/monitors", publicKeyHeader, "wrong").hasError(http.StatusUnauthorized, "UNAUTHORIZED")
}

func TestASessionInUseIsRenewed(t *testing.T) {
	api := newTestAPI(t)
	cookie := api.signIn()
	api.at = now.Add(5 * time.Hour)
	api.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasHeaders("Set-Cookie", "")
	api.at = now.Add(7 * time.Hour)
	renewed := api.withSession(cookie, http.MethodGet, "/api/v1/monitors").cookie()
	api.at = now.Add(18 * time.Hour)
	api.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusUnauthorized)
	api.withSession(renewed, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
}

// TestSigningInAgainIsNecessaryAfter7Days: a copied cookie could be renewed for ever.
func TestSigningInAgainIsNecessaryAfter7Days(t *testing.T) {
	api := newTestAPI(t)
	cookie := api.signIn()
	last := now.Add(7 * 24 * time.Hour).Truncate(time.Second)
	for ; api.at.Before(last); api.at = api.at.Add(time.Hour) {
		a := api.withSession(cookie, http.MethodGet, sessionURL).hasStatus(http.StatusOK)
		if a.header.Get("Set-Cookie") == "" {
			continue
		}
		cookie = a.cookie()
		if until := api.at.Add(time.Duration(cookie.MaxAge) * time.Second); until.After(last) {
			t.Fatalf("%v after signing in, the cookie lasts until %v, %v after signing in", api.at.Sub(now), until, until.Sub(now))
		}
	}
	api.at = last
	api.withSession(cookie, http.MethodGet, sessionURL).hasStatus(http.StatusUnauthorized)
	api.signIn()
}

// TestACookieConfirmsNoGuessOfTheKey: whoever has a cookie could find a weak API_KEY offline.
func TestACookieConfirmsNoGuessOfTheKey(t *testing.T) {
	sum := func(key, text []byte) []byte {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write(text)
		return mac.Sum(nil)
	}
	raw := must.Get(base64.RawURLEncoding.DecodeString(newTestAPI(t).signIn().Value))(t)
	signed, signature := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	derived := sum([]byte(apiKey), []byte("stream-monitor session of the dashboard, version 1"))
	if hmac.Equal(signature, sum(derived, signed)) {
		t.Error("a cookie can be compared with guesses of API_KEY")
	}
	one, another := newTestAPI(t), newTestAPI(t) // of two databases
	another.withSession(one.signIn(), http.MethodGet, sessionURL).hasStatus(http.StatusUnauthorized)
}

// TestSigningInWorksWhileTheDatabaseIsAway: once the key of sessions was read. Until then nobody is
// told that their cookie or key is wrong, and a link is not used up.
func TestSigningInWorksWhileTheDatabaseIsAway(t *testing.T) {
	api := newTestAPI(t)
	api.unvalidated = true // of the pages
	link := api.handlers.NewSignInLink()
	api.breakAll()
	api.signInWith(apiKey, "").hasStatus(http.StatusInternalServerError)
	api.do(httptest.NewRequest(http.MethodGet, link, nil)).hasStatus(http.StatusInternalServerError)
	api.withSession(&http.Cookie{Name: "stream_monitor_session", Value: "x"}, http.MethodGet, sessionURL).hasStatus(http.StatusInternalServerError)
	api.use(api.db)
	cookie := api.do(httptest.NewRequest(http.MethodGet, link, nil)).hasStatus(http.StatusSeeOther).cookie()
	api.breakAll()
	for _, c := range []*http.Cookie{cookie, api.signIn()} {
		api.withSession(c, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
	}
}

func TestSigningOutDeletesTheCookie(t *testing.T) {
	api := newTestAPI(t)
	for _, cookie := range []*http.Cookie{api.signIn(), {Name: "stream_monitor_session", Value: "expired"}} {
		deleted := api.withSession(cookie, http.MethodDelete, sessionURL).hasStatus(http.StatusNoContent).cookie()
		if deleted.MaxAge != -1 || deleted.Value != "" || deleted.Path != "/" {
			t.Errorf("the cookie is %v", deleted)
		}
	}
	api.do(httptest.NewRequest(http.MethodGet, sessionURL, nil)).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
}

// TestAPageOfAnotherSiteCannotUseTheSession sends what browsers send for such a page:
// new ones Sec-Fetch-Site, old ones and those on plain HTTP only Origin.
func TestAPageOfAnotherSiteCannotUseTheSession(t *testing.T) {
	api := newTestAPI(t, func(c *testConfig) { c.PublicURL = "https://monitor.example.org/base" })
	id := api.register("Q")
	cookie := api.signIn()
	foreign := [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"}, // another port or subdomain
		{"Origin", "https://attacker.example"},
		{"Origin", "http://example.com:8080"},
		{"Origin", "null"},
	}
	for _, headers := range foreign {
		for _, c := range []struct{ method, path string }{
			{http.MethodPost, "/api/v1/monitors"},
			{http.MethodPost, "/api/v1/webhooks/test"},
			{http.MethodPatch, "/api/v1/monitors/" + string(id)},
			{http.MethodDelete, "/api/v1/monitors/" + string(id)},
			{http.MethodDelete, sessionURL},
			{http.MethodPost, sessionURL},
		} {
			api.withSession(cookie, c.method, c.path, headers...).hasError(http.StatusForbidden, "CROSS_ORIGIN", "PUBLIC_URL").hasHeaders("Set-Cookie", "")
		}
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "same-origin"},
		{"Origin", "http://example.com"}, // the Host of the request
		{"Origin", "https://monitor.example.org", "Sec-Fetch-Site", "same-origin"},
		{"Origin", "https://monitor.example.org"}, // through a reverse proxy that changes Host
		{}, // no browser
	} {
		api.withSession(cookie, http.MethodDelete, sessionURL, headers...).hasStatus(http.StatusNoContent)
	}
	// A key is no ambient permission: pages of other sites cannot send it.
	r := newRequest("DELETE", "/api/v1/monitors/"+string(id), nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	api.do(r).hasStatus(http.StatusOK)
}

func TestWrongKeysAreLimitedByAddress(t *testing.T) {
	api := newTestAPI(t)
	const one, network, other = "192.0.2.1:1111", "[2001:db8::1]:1", "192.0.2.2:1111"
	for _, address := range []string{one, network} {
		for range 10 {
			api.signInWith("wrong", address).hasError(http.StatusUnauthorized, "UNAUTHORIZED")
		}
		a := api.signInWith(apiKey, address) // the right key must not be found out either
		a.hasError(http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED", "10 wrong keys")
		a.hasHeaders("Retry-After", "60")
	}
	api.signInWith(apiKey, "192.0.2.1:2222").hasStatus(http.StatusTooManyRequests)
	api.signInWith(apiKey, "[2001:db8::ffff]:2").hasStatus(http.StatusTooManyRequests) // the same network
	api.signInWith(apiKey, other).hasStatus(http.StatusNoContent)
	if got := strings.Count(api.log.String(), "sign-in is refused"); got != 2 {
		t.Errorf("%d lines of the log say so, want one for each address: %s", got, api.log)
	}
	api.at = now.Add(time.Minute)
	api.signInWith(apiKey, one).hasStatus(http.StatusNoContent)
}

// TestRightKeysAreNotLimited: a whole office signs in from one address.
func TestRightKeysAreNotLimited(t *testing.T) {
	api := newTestAPI(t)
	for range 50 {
		api.signIn()
	}
}

func TestTheCookieIsSecureUnderTLS(t *testing.T) {
	api := newTestAPI(t)
	for name, c := range map[string]struct {
		change func(*http.Request)
		secure bool
	}{
		"plain HTTP":                       {func(*http.Request) {}, false},
		"TLS":                              {func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, true},
		"TLS that ends at a reverse proxy": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, true},
		"TLS that only the browser knows of": {func(r *http.Request) {
			r.Header.Set("Origin", "https://example.com")
		}, true},
		"a proxy without TLS": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http") }, false},
	} {
		if cookie := api.signInWith(apiKey, "", c.change).hasStatus(http.StatusNoContent).cookie(); cookie.Secure != c.secure {
			t.Errorf("%s: Secure is %v", name, cookie.Secure)
		}
	}
}

func TestALinkSignsInOnce(t *testing.T) {
	api := newTestAPI(t)
	api.unvalidated = true // openapi.yaml describes the API, not the pages
	open := func(method, path string) response {
		t.Helper()
		return api.do(httptest.NewRequest(method, path, nil))
	}
	expired := func(path string) {
		t.Helper()
		a := open(http.MethodGet, path).hasStatus(http.StatusSeeOther)
		a.hasHeaders("Location", "/signin?link=expired", "Set-Cookie", "")
	}
	expired("/signin?token=") // before there is a link
	link := api.handlers.NewSignInLink()
	expired("/signin?token=" + strings.Repeat("A", 26))
	open(http.MethodHead, link) // a preview of the link does not use it up
	a := open(http.MethodGet, link).hasStatus(http.StatusSeeOther)
	a.hasHeaders("Location", "/", "Referrer-Policy", "no-referrer", "Cache-Control", "no-store")
	api.withSession(a.cookie(), http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
	expired(link)

	earlier, link := api.handlers.NewSignInLink(), api.handlers.NewSignInLink()
	expired(earlier)
	api.at = now.Add(10 * time.Minute)
	expired(link)
	api.logged().lacksWords(strings.TrimPrefix(link, "/signin?token="))
}

// TestADashboardReadsMore: one page of the dashboard consists of many requests. Each
// session is a client of its own.
func TestADashboardReadsMore(t *testing.T) {
	api := newTestAPI(t)
	api.unvalidated = true // it would take seconds
	cookie := api.signIn()
	for range 10 * requestsPerMin {
		api.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
	}
	api.withSession(cookie, http.MethodGet, "/api/v1/monitors").hasError(http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED")
	api.withSession(api.signIn(), http.MethodGet, "/api/v1/monitors").hasStatus(http.StatusOK)
	for range requestsPerMin { // the larger limit is that of sessions only
		api.get("/api/v1/monitors").hasStatus(http.StatusOK)
	}
	api.get("/api/v1/monitors").hasError(http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED")
}

// TestAFeedEndsWithItsSession: a feed could be read for ever with a session of 12 h.
func TestAFeedEndsWithItsSession(t *testing.T) {
	var late atomic.Bool
	accepting := make(chan struct{}, 1)
	api := newTestAPI(t, func(c *testConfig) {
		c.Now = func() time.Time {
			if late.Load() {
				select {
				case <-accepting: // the session is checked at its beginning
				default: // and its time limit is set 20 ms before its end
					return now.Add(12*time.Hour - 20*time.Millisecond).Truncate(time.Second).Add(-20 * time.Millisecond)
				}
			}
			return now
		}
	})
	cookie := api.signIn()
	late.Store(true)
	accepting <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/feed", nil)
	r.AddCookie(cookie)
	api.do(r).hasStatus(http.StatusOK)
	if ctx.Err() != nil {
		t.Error("the feed outlives the session")
	}
}

// sessionCases are the responses of the routes of sessions.
func sessionCases() []responseCase {
	signIn := func(body string) func(*testAPI) *http.Request {
		return with(request("POST", sessionURL, body), func(_ *testAPI, r *http.Request) { r.Header.Del(publicKeyHeader) })
	}
	right := signIn(`{"api_key":"` + apiKey + `"}`)
	ofKey := func(api *testAPI) *http.Request { // whose session is checked anew
		cookie := api.signInWith(api.createKey("ann", "view"), "").hasStatus(http.StatusNoContent).cookie()
		api.at = now.Add(time.Minute)
		return sessionRequest(cookie, http.MethodGet, sessionURL)
	}
	guessed := func(api *testAPI) {
		for range 10 {
			api.signInWith("wrong", "")
		}
	}
	return slices.Concat([]responseCase{
		{"sign in", 204, right},
		{"sign in without a key", 400, signIn(`{}`)},
		{"sign in with a wrong key", 401, signIn(`{"api_key":"wrong"}`)},
		{"sign in with a body that does not arrive", 408, with(right, withStalledBody)},
		{"sign in with a body that is too large", 413, with(right, withLargeBody)},
		{"sign in with plain text", 415, with(right, withHeader("Content-Type", "text/plain"))},
		{"sign in after too many wrong keys", 429, after(guessed, right)},
		{"read the session", 200, func(api *testAPI) *http.Request { return sessionRequest(api.signIn(), http.MethodGet, sessionURL) }},
		{"read no session", 401, withoutKey(sessionURL)},
		{"sign out", 204, func(*testAPI) *http.Request { return httptest.NewRequest(http.MethodDelete, sessionURL, nil) }},
	}, brokenCases("sign in", signIn(`{"api_key":"another"}`), (*testAPI).breakStores), brokenCases("read the session", ofKey, (*testAPI).breakStores))
}
