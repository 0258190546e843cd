package eventsub

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// Socket is where a WebSocket begins. Twitch sends something at least every 30 s, as the query asks.
const Socket = "wss://eventsub.wss.twitch.tv/ws?keepalive_timeout_seconds=30"

// The times of a socket.
const (
	WelcomeTimeout = 10 * time.Second // from the connection to the first frame; a shard has to be assigned in as much
	ReconnectTime  = 30 * time.Second // for which an old socket stays open after it has asked for another one

	keepaliveMargin = 5 * time.Second // of the way of a keepalive
	maxKeepalive    = 10 * time.Minute
)

// Backoff delays the next socket after failures in a row. A socket that has lived for SteadyAfter begins anew.
var Backoff = backoff.Policy{First: time.Second, Max: 2 * time.Minute}

// SteadyAfter is how long a socket lives until it is no failure that it is lost.
const SteadyAfter = time.Minute

// FrameKind is the type of a frame.
type FrameKind string

// The types of frames beside those of messages.
const (
	Welcome   FrameKind = "session_welcome"
	Keepalive FrameKind = "session_keepalive"
	Reconnect FrameKind = "session_reconnect"
)

// Frame is one frame of a socket.
type Frame struct {
	Kind      FrameKind
	Session   string        // of Welcome: its id
	Silence   time.Duration // of Welcome: the socket is lost if nothing comes for so long
	Reconnect string        // of Reconnect: the URL of the next socket
	Message   *Message      // of other kinds that have come in time; nil: nothing follows
}

// ReadFrame decodes a frame that was received at now. Errors: EventSub has no such frame.
func ReadFrame(raw []byte, now time.Time) (f Frame, err error) {
	var read struct {
		Metadata struct {
			ID     string    `json:"message_id"`
			Kind   string    `json:"message_type"`
			SentAt time.Time `json:"message_timestamp"`
		}
		Payload json.RawMessage
	}
	if err := json.Unmarshal(raw, &read); err != nil || read.Metadata.Kind == "" {
		return f, fmt.Errorf("a frame of %d bytes is none of EventSub", len(raw))
	}
	f.Kind = FrameKind(read.Metadata.Kind)
	switch f.Kind {
	case Welcome, Reconnect:
		return f.session(read.Payload)
	case Keepalive:
		return f, nil
	}
	m := Message{ID: read.Metadata.ID, Kind: Kind(read.Metadata.Kind), SentAt: read.Metadata.SentAt, Body: raw}
	if m.ID == "" || len(m.ID) > maxID || !fresh(m.SentAt, now) {
		return f, nil
	}
	if m, err = m.decode(read.Payload); err != nil {
		return f, fmt.Errorf("a frame %.40q: %w", f.Kind, err)
	}
	f.Message = &m
	return f, nil
}

// session completes a frame about the session.
func (f Frame) session(raw json.RawMessage) (Frame, error) {
	var p struct {
		Session struct {
			ID        string
			Keepalive int    `json:"keepalive_timeout_seconds"`
			Reconnect string `json:"reconnect_url"`
		}
	}
	err := json.Unmarshal(raw, &p)
	f.Session, f.Reconnect = p.Session.ID, p.Session.Reconnect
	f.Silence = min(max(time.Duration(p.Session.Keepalive)*time.Second, WelcomeTimeout), maxKeepalive) + keepaliveMargin
	switch {
	case err != nil, f.Kind == Welcome && f.Session == "":
		return f, fmt.Errorf("a frame %s names no session", f.Kind)
	case f.Kind == Reconnect && !ofTwitch(f.Reconnect):
		return f, fmt.Errorf("a frame %s names no socket of Twitch", f.Kind)
	}
	return f, nil
}

// ofTwitch reports whether a URL is one of Twitch's sockets: nobody else may be connected to.
func ofTwitch(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "wss" && u.User == nil && u.Port() == "" && strings.HasSuffix(u.Hostname(), ".wss.twitch.tv")
}
