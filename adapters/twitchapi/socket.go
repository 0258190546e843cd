package twitchapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coder/websocket"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// Sockets connects to the sockets of EventSub. It may be used concurrently.
type Sockets struct{ client http.Client }

var _ pushes.Dialer = (*Sockets)(nil)

// NewSockets returns Sockets that use client with its proxies and certificates (decision O8). They follow no redirect.
func NewSockets(client *http.Client) *Sockets {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sockets{c}
}

// Dial implements pushes.Dialer.
func (s *Sockets) Dial(ctx context.Context, url string) (pushes.Socket, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &s.client}) //nolint:bodyclose // it is the socket's
	if err != nil {
		return nil, oneLine(err)
	}
	conn.SetReadLimit(eventsub.MaxBody)
	return socket{conn}, nil
}

// socket implements pushes.Socket.
type socket struct{ conn *websocket.Conn }

// Read implements pushes.Socket. It also answers pings.
func (s socket) Read(ctx context.Context) ([]byte, error) {
	_, raw, err := s.conn.Read(ctx)
	if closed, is := errors.AsType[websocket.CloseError](err); is {
		err = fmt.Errorf("it was closed with %d %s", closed.Code, closed.Reason)
	}
	if err != nil {
		s.Close()
		return nil, oneLine(err)
	}
	return raw, nil
}

// Close implements pushes.Socket.
func (s socket) Close() { _ = s.conn.CloseNow() }

// oneLine returns an error whose text, in which Twitch has a part, is one line.
func oneLine(err error) error { return errors.New(outbound.OneLine(err.Error())) }
