package youtube

import (
	"net/http"
	"slices"
	"strconv"
)

// The cookies of a login, as YouTube has them. The token is renewed now and then; SAPISID is what a client signs with.
const (
	loginCookie  = "LOGIN_INFO"
	signerCookie = "SAPISID"
	tokenCookie  = "__Secure-3PSIDTS"
)

// login is what the server knows of logins.
type login struct {
	accepted string   // value of LOGIN_INFO; empty: none is accepted
	rotating bool     // each page gives a new token
	tokens   []string // that were given, and count as long as few newer ones were given
	accesses int      // requests that were accepted
}

// keptTokens is how many tokens count, the newest first.
const keptTokens = 3

// AcceptLogin accepts the value of LOGIN_INFO from now on, and no other. Who has another one, or a token that was
// replaced long ago, gets its login deleted, as YouTube does.
func (y *Server) AcceptLogin(value string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.login = login{accepted: value}
}

// RotateLogin gives a new token with each page from now on.
func (y *Server) RotateLogin() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.login.rotating = true
}

// Logins returns how many requests came with the accepted login.
func (y *Server) Logins() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.login.accesses
}

// TokenPrefix is how the value of every token begins.
const TokenPrefix = "token-of-the-fake-youtube-"

// signedIn reports whether a request has the accepted login. It deletes another one, and renews the token.
func (y *Server) signedIn(w http.ResponseWriter, r *http.Request) bool {
	given, err := r.Cookie(loginCookie)
	if err != nil {
		return false
	}
	_, unsigned := r.Cookie(signerCookie)
	token, _ := r.Cookie(tokenCookie)
	y.mu.Lock()
	defer y.mu.Unlock()
	if given.Value != y.login.accepted || unsigned != nil || len(y.login.tokens) > 0 && (token == nil || !slices.Contains(y.login.tokens, token.Value)) {
		http.SetCookie(w, &http.Cookie{Name: loginCookie, Domain: "youtube.com", Path: "/", Secure: true, MaxAge: -1})
		return false
	}
	y.login.accesses++
	if y.login.rotating {
		if len(y.login.tokens) == 0 && token != nil {
			y.login.tokens = []string{token.Value}
		}
		value := TokenPrefix + strconv.Itoa(y.login.accesses)
		y.login.tokens = append(y.login.tokens, value)
		y.login.tokens = y.login.tokens[max(0, len(y.login.tokens)-keptTokens):]
		http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: value, Domain: "youtube.com", Path: "/", Secure: true, MaxAge: 365 * 86400})
	}
	return true
}
