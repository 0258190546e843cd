package twitch

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The credentials of the only application that Twitch knows here.
const (
	ClientID     = "anapplicationfortestsonly00001"
	ClientSecret = "secretofanapplicationfortests1"
)

// Helix is how the API for applications answers. The zero value answers every call with the right credentials.
type Helix struct {
	Status  int  // of the refusal of each call; 0: none is refused
	Points  int  // calls that are answered in a minute; 0: 800
	Unknown bool // no channel is said to be live: the API is late

	minute int64
	left   int
	calls  int // that were answered
	logins int // of those
	tokens map[string]bool
}

// SetHelix changes how the API answers from now on, and counts anew. Tokens that were given stay.
func (s *Site) SetHelix(h Helix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.tokens = s.helix.tokens
	s.helix = h
}

// Tokens returns those that were given and not revoked.
func (s *Site) Tokens() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for authorization := range s.helix.tokens {
		all = append(all, strings.TrimPrefix(authorization, "Bearer "))
	}
	return all
}

// RevokeTokens lets the API refuse the tokens that were given.
func (s *Site) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helix.tokens = nil
}

// HelixCalls counts the calls that were answered, and the logins about which they asked.
func (s *Site) HelixCalls() (calls, logins int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.helix.calls, s.helix.logins
}

// token answers a question for an app access token.
func (s *Site) token(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.FormValue("grant_type") != "client_credentials":
		refuse(w, http.StatusBadRequest, "missing grant type")
	case r.FormValue("client_id") != ClientID:
		refuse(w, http.StatusBadRequest, "invalid client")
	case r.FormValue("client_secret") != ClientSecret:
		refuse(w, http.StatusForbidden, "invalid client secret")
	default:
		access := rand.Text()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.helix.tokens == nil {
			s.helix.tokens = map[string]bool{}
		}
		s.helix.tokens["Bearer "+access] = true
		writeJSON(w, object{"access_token": access, "expires_in": 5_011_271, "token_type": "bearer"})
	}
}

// allowed counts a call, and refuses one without a token or points.
func (s *Site) allowed(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.helix
	minute := time.Now().Unix() / 60
	if h.minute != minute || h.left == 0 && h.Points == 0 {
		h.minute, h.left = minute, h.Points
		if h.Points == 0 {
			h.left = 800
		}
	}
	status, message := h.Status, "The request was refused."
	switch {
	case !h.tokens[r.Header.Get("Authorization")]:
		status, message = http.StatusUnauthorized, "Invalid OAuth token"
	case r.Header.Get("Client-Id") != ClientID:
		status, message = http.StatusUnauthorized, "Client ID and OAuth token do not match"
	case status == 0 && h.left == 0:
		status, message = http.StatusTooManyRequests, "Too Many Requests"
	}
	h.left = max(0, h.left-1)
	w.Header().Set("Ratelimit-Limit", "800")
	w.Header().Set("Ratelimit-Remaining", strconv.Itoa(h.left))
	w.Header().Set("Ratelimit-Reset", strconv.FormatInt(60*(minute+1), 10))
	if status != 0 {
		refuse(w, status, message)
		return false
	}
	h.calls++
	return true
}

// streams answers a question about the streams of channels.
func (s *Site) streams(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	logins := r.URL.Query()["user_login"]
	first, err := strconv.Atoi(r.URL.Query().Get("first"))
	if len(logins) == 0 || len(logins) > 100 || err == nil && (first < 1 || first > 100) {
		refuse(w, http.StatusBadRequest, "The parameter \"user_login\" or \"first\" was malformed")
		return
	}
	if err != nil {
		first = 20
	}
	s.mu.Lock()
	s.helix.logins += len(logins)
	late := s.helix.Unknown
	s.mu.Unlock()
	data := []object{}
	for _, login := range logins {
		c := s.channel(login)
		if c.state == NotLive || c.state == Gone || late || len(data) == first {
			continue
		}
		kind := "live"
		if c.state == Rerun {
			kind = ""
		}
		data = append(data, object{"id": c.id(), "user_login": login, "user_name": login, "type": kind, "title": "A test", "started_at": c.started.UTC().Format(time.RFC3339)})
	}
	writeJSON(w, object{"data": data, "pagination": object{}})
}

// refuse answers a call that is refused.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	writeJSON(w, object{"error": http.StatusText(status), "status": status, "message": message})
}
