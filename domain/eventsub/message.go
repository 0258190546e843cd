package eventsub

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The limits of messages.
const (
	MaxBody = 64 << 10         // bytes of a webhook's body, and of a frame
	Window  = 10 * time.Minute // a message that was sent earlier or later than this is refused, as Twitch asks
	Kept    = 72 * time.Hour   // how long the messages that were received are kept
	maxID   = 128              // characters of the ids that Twitch gives
)

// Kind is the type of a message, as a webhook's header and a frame's metadata name it.
type Kind string

// The kinds that mean anything here. Others are kept, and nothing follows.
const (
	Notification Kind = "notification"
	Revocation   Kind = "revocation"
	Verification Kind = "webhook_callback_verification" // of webhooks alone: the answer is the challenge
)

// Type is the type of a subscription, each of version 1.
type Type string

// The types that are subscribed.
const (
	Online  Type = "stream.online"
	Offline Type = "stream.offline"
)

// Types are the types that each login needs, the most important first.
var Types = []Type{Online, Offline}

// Message is a message that Twitch has sent.
type Message struct {
	ID        string
	Kind      Kind
	SentAt    time.Time
	Type      Type   // of the subscription
	Status    string // of the subscription; of a revocation: why
	UserID    string // of the broadcaster
	Login     string // of the broadcaster; only of notifications
	Live      bool   // of Online: it is a live broadcast, no rerun and no premiere
	Challenge string // of a Verification
	Body      []byte // as it was received
}

// payload is the body of a webhook, and the payload of a frame.
type payload struct {
	Challenge    string
	Subscription struct {
		Type      Type
		Status    string
		Condition struct {
			UserID string `json:"broadcaster_user_id"`
		}
	}
	Event struct {
		UserID string `json:"broadcaster_user_id"`
		Login  string `json:"broadcaster_user_login"`
		Type   string
	}
}

// decode completes a message by its payload. Errors: the payload is no JSON of EventSub.
func (m Message) decode(raw []byte) (Message, error) {
	var p payload
	if err := json.Unmarshal(raw, &p); err != nil {
		return m, fmt.Errorf("no JSON of EventSub: %w", err)
	}
	m.Type, m.Status, m.UserID = p.Subscription.Type, p.Subscription.Status, p.Subscription.Condition.UserID
	m.Login, m.Live, m.Challenge = p.Event.Login, p.Event.Type == "live", p.Challenge
	switch {
	case m.Type == "" || m.UserID == "":
		return m, fmt.Errorf("it names no subscription with a broadcaster")
	case m.Kind == Verification && m.Challenge == "":
		return m, fmt.Errorf("it has no challenge")
	case m.Kind == Notification && p.Event.UserID != m.UserID:
		return m, fmt.Errorf("the broadcaster of its event is not that of its subscription")
	}
	return m, nil
}

// Stream returns the stream about which a message tells, and its state if that is true. ok is false if it tells of none: its type
// is another one, or it tells of a rerun.
func (m Message) Stream() (url monitor.StreamURL, state monitor.StreamStatus, ok bool) {
	switch {
	case m.Kind != Notification:
		return "", "", false
	case m.Type == Online && m.Live:
		state = monitor.StreamLive
	case m.Type == Offline:
		state = monitor.StreamEnded
	default:
		return "", "", false
	}
	url, err := monitor.ParseStreamURL(URL(m.Login))
	return url, state, err == nil
}

// URL returns the URL of a login's place.
func URL(login string) string { return monitor.Twitch.Row().Prefix + login }

// fresh reports whether a message was sent within Window of now.
func fresh(sentAt, now time.Time) bool { return now.Sub(sentAt).Abs() <= Window }
