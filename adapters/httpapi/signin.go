package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const signInPath = "/signin"

// signIn signs people in to the dashboard (section 18.2). They present a key or a link
// once, and get a session cookie. Every route of the public API accepts it.
type signIn struct {
	*responder

	apiKey string
	keys   *authenticator
	random *keyring.SessionKeys // sign the cookies, with apiKey
	link   signInLink
	wrong  wrongAttempts
	origin *http.CrossOriginProtection
	now    func() time.Time
}

// newSignIn makes a signIn. A reverse proxy may change the Host of requests from the origin of PUBLIC_URL.
func newSignIn(r *responder, keys *authenticator, random *keyring.SessionKeys, cfg Config) (*signIn, error) {
	s := &signIn{
		responder: r, apiKey: cfg.APIKey, keys: keys, random: random, origin: http.NewCrossOriginProtection(), now: cfg.Now,
		wrong: wrongAttempts{max: maxWrongSignIns},
	}
	origin := Origin(cfg.PublicURL)
	if origin == "" {
		return s, nil
	}
	return s, s.origin.AddTrustedOrigin(origin)
}

type signInRequest struct {
	APIKey string `json:"api_key"`
}

type signInBody struct {
	ExpiresAt     time.Time   `json:"expires_at"`
	SignInAgainAt time.Time   `json:"sign_in_again_at"`
	Name          string      `json:"name"`
	Role          access.Role `json:"role"`
}

// begin is POST /api/v1/session. It refuses an address with too many wrong keys before
// it looks at the key: otherwise the address could go on guessing.
func (s *signIn) begin(c *gin.Context) error {
	if err := s.sameOrigin(c); err != nil {
		return err
	}
	address := addressOf(c)
	if wait := s.wrong.wait(address, s.now()); wait > 0 {
		retryAfter(c, wait)
		return refusef(monitor.RateLimitExceeded, "%d wrong keys in a minute came from this address; wait before the next", maxWrongSignIns)
	}
	raw, err := readJSON(c)
	if err != nil {
		return err
	}
	var body signInRequest
	if err := decode(raw, &body); err != nil {
		return err
	}
	if body.APIKey == "" {
		return refusef(monitor.InvalidConfig, "api_key is missing")
	}
	key, right, err := s.keys.find(c.Request.Context(), body.APIKey)
	if err != nil {
		return err
	}
	if !right {
		if s.wrong.add(address, s.now()) {
			s.log.Warn("sign-in is refused for up to a minute, too many wrong keys came from this address: if nobody mistyped the key, find out who guesses", "client", address)
		}
		return refusef(monitor.Unauthorized, "api_key is wrong")
	}
	cookies, err := s.cookies(c)
	if err != nil {
		return err
	}
	s.log.Info("somebody signed in to the dashboard", "client", address, "by", "key", "key", key.Name)
	s.setCookie(c, cookies, newSession(s.now(), key.ID))
	c.Status(http.StatusNoContent)
	return nil
}

// end is DELETE /api/v1/session. The browser forgets the session.
func (s *signIn) end(c *gin.Context) error {
	if err := s.sameOrigin(c); err != nil {
		return err
	}
	s.setCookie(c, sessionKey{}, session{expires: time.Unix(0, 0)})
	c.Status(http.StatusNoContent)
	return nil
}

// read is GET /api/v1/session.
func (s *signIn) read(c *gin.Context) error {
	if err := s.accept(c); err != nil {
		return err
	}
	current, is := sessionOf(c)
	if !is {
		return refusef(monitor.Unauthorized, "nobody is signed in here")
	}
	key := keyOfActor(c)
	s.write(c, http.StatusOK, signInBody{s.localTime(current.expires), s.localTime(current.lastEnd()), key.Name, key.Role})
	return nil
}

// useLink is GET /signin?token=…. Other requests for /signin get the page. The redirect
// removes the token from the address that the browser shows and remembers.
func (s *signIn) useLink(page func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		token, given := c.GetQuery("token")
		if !given || c.Request.Method != http.MethodGet {
			return page(c)
		}
		c.Header("Referrer-Policy", "no-referrer")
		cookies, err := s.cookies(c)
		if err != nil { // the link stays usable
			return err
		}
		if !s.link.use(token, s.now()) {
			c.Redirect(http.StatusSeeOther, signInPath+"?link=expired")
			return nil
		}
		s.log.Info("somebody signed in to the dashboard", "client", addressOf(c), "by", "link")
		s.setCookie(c, cookies, newSession(s.now(), ""))
		c.Redirect(http.StatusSeeOther, "/")
		return nil
	}
}

// sameOrigin refuses a request that a page of another site makes a browser send.
func (s *signIn) sameOrigin(c *gin.Context) error {
	if err := s.origin.Check(c.Request); err != nil {
		return refusef(crossOrigin, "the request comes from a page of another origin; behind a reverse proxy that changes Host, set PUBLIC_URL to the URL of the dashboard")
	}
	return nil
}

// contextSession is the name under which a gin.Context holds the session of its request.
const contextSession = "session"

// accept sets the session of a request that has a valid one of an active key, and renews a session that
// ends soon. It refuses a request that a page of another site makes the browser send.
func (s *signIn) accept(c *gin.Context) error {
	cookie, _ := c.Cookie(sessionCookie)
	if cookie == "" {
		return nil
	}
	cookies, err := s.cookies(c)
	if err != nil {
		return err
	}
	now := s.now()
	current, valid := cookies.read(cookie, now)
	if !valid {
		return nil
	}
	key, active, err := s.keys.findByID(c.Request.Context(), current.keyID)
	if err != nil || !active {
		return err
	}
	if err := s.sameOrigin(c); err != nil {
		return err
	}
	if renewed := current.renewed(now); current.expires.Sub(now) < sessionRenewal && renewed.expires.After(current.expires) {
		current = renewed
		s.setCookie(c, cookies, current)
	}
	c.Set(contextSession, current)
	c.Set(contextActor, key)
	return nil
}

// cookies returns the key of the cookies. Error: the database was not reached since the gateway started.
func (s *signIn) cookies(c *gin.Context) (sessionKey, error) {
	random, err := s.random.Key(c.Request.Context())
	return newSessionKey(random, s.apiKey), err
}

// sessionOf returns the session of an accepted request, if it has one instead of a key.
func sessionOf(c *gin.Context) (session, bool) {
	value, _ := c.Get(contextSession)
	s, is := value.(session)
	return s, is
}

// setCookie sends the cookie of a session. Secure is set under TLS, also where a reverse
// proxy ends it. A client that pretends TLS only gets a cookie that it will not send.
func (s *signIn) setCookie(c *gin.Context, cookies sessionKey, to session) {
	r := c.Request
	value := ""
	maxAge := -1 // the browser deletes it
	if left := to.expires.Sub(s.now()); left > 0 {
		value, maxAge = cookies.value(to), int(left.Seconds())
	}
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // plain HTTP in a LAN is supported, a Secure cookie would not be sent there
		Name: sessionCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	})
}
