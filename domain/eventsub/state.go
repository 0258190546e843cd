package eventsub

import "time"

// State is what all gateways know of the subscriptions. The store keeps it as JSON. The zero value knows nothing.
type State struct {
	Client        string      `json:"client,omitempty"`      // the id of the application, whose conduit and subscriptions these are
	Transport     Transport   `json:"transport,omitzero"`    // of new subscriptions
	Former        []Transport `json:"former,omitempty"`      // of subscriptions that have yet to be removed
	Session       string      `json:"session,omitempty"`     // of the socket that the shard has
	ConnectedAt   time.Time   `json:"connected_at,omitzero"` // since when there is a socket; zero: there is none
	ListedAt      time.Time   `json:"listed_at,omitzero"`    // when Twitch was asked last which subscriptions there are
	Subscriptions int         `json:"subscriptions,omitempty"`
	Missing       int         `json:"missing,omitempty"` // of those that are wanted
	Unknown       []string    `json:"unknown,omitempty"` // logins that Twitch does not know
	Failure       string      `json:"failure,omitempty"` // why the newest step failed, one line without secrets; empty: it did not

	// The store has these by the messages themselves.
	MessageAt time.Time `json:"-"` // when the newest notification was received
	RevokedAt time.Time `json:"-"` // when the newest revocation was received
}

// Use makes a transport that of new subscriptions. Another application begins anew.
func (s *State) Use(client string, t Transport) {
	if s.Client != client {
		*s = State{Client: client}
	}
	if s.Transport != t && s.Transport != (Transport{}) {
		s.Former = append(s.Former, s.Transport)
	}
	s.Transport = t
}

// Connect notes that the shard sends to a session since now.
func (s *State) Connect(session string, now time.Time) { s.Session, s.ConnectedAt = session, now }

// Disconnect notes that a session has ended. Another one stays.
func (s *State) Disconnect(session string) {
	if s.Session == session {
		s.Session, s.ConnectedAt = "", time.Time{}
	}
}

// ListDue reports whether Twitch has to be asked at now which subscriptions there are: a revocation has taken some, or it was
// long ago.
func (s State) ListDue(now time.Time) bool {
	return s.RevokedAt.After(s.ListedAt) || now.Sub(s.ListedAt).Abs() >= ListEvery
}

// Status is the State for people.
type Status struct {
	Transport     string     `json:"transport"`      // conduit or webhook
	ConnectedAt   *time.Time `json:"connected_at"`   // since when there is a socket; nil: there is none, as with webhooks
	Subscriptions int        `json:"subscriptions"`  // that send
	Missing       int        `json:"missing"`        // that are wanted, too
	UnknownLogins []string   `json:"unknown_logins"` // at most MaxUnknown
	MessageAt     *time.Time `json:"message_at"`     // when the newest notification was received
	Failure       *string    `json:"failure"`        // why the newest step failed; nil: it did not
}

// MaxUnknown is how many unknown logins a Status names.
const MaxUnknown = 20

// Status returns the State for people.
func (s State) Status() Status {
	status := Status{Transport: "conduit", Subscriptions: s.Subscriptions, Missing: s.Missing, UnknownLogins: append([]string{}, s.Unknown[:min(len(s.Unknown), MaxUnknown)]...)}
	if s.Transport.Callback != "" {
		status.Transport = "webhook"
	}
	for to, at := range map[**time.Time]time.Time{&status.ConnectedAt: s.ConnectedAt, &status.MessageAt: s.MessageAt} {
		if !at.IsZero() {
			*to = &at
		}
	}
	if s.Failure != "" {
		status.Failure = &s.Failure
	}
	return status
}
