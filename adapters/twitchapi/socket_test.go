package twitchapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// dial connects to a server that does something with each socket.
func dial(t *testing.T, serve func(context.Context, *websocket.Conn)) pushes.Socket {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		serve(r.Context(), conn)
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	socket := must.Get(twitchapi.NewSockets(client).Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")))(t)
	t.Cleanup(socket.Close)
	return socket
}

func TestASocketReadsFramesUntilItIsClosed(t *testing.T) { // S28
	socket := dial(t, func(ctx context.Context, conn *websocket.Conn) {
		_ = conn.Write(ctx, websocket.MessageText, []byte("one"))
		_ = conn.Write(ctx, websocket.MessageText, []byte("two"))
		_ = conn.Close(4003, "connection unused")
	})
	for _, want := range []string{"one", "two"} {
		expect.Equal(t, "a frame", string(must.Get(socket.Read(t.Context()))(t)), want)
	}
	expect.Failed(socket.Read(t.Context()))(t, "it was closed with 4003 connection unused")
	expect.Failed(socket.Read(t.Context()))(t, "closed")
}

func TestASocketAnswersPingsAndIsGivenUp(t *testing.T) { // S28
	ponged := make(chan error, 1)
	socket := dial(t, func(ctx context.Context, conn *websocket.Conn) {
		ctx = conn.CloseRead(ctx)
		ponged <- conn.Ping(ctx)
		<-ctx.Done()
	})
	silent, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() { _, err := socket.Read(silent); read <- err }()
	select {
	case err := <-ponged:
		expect.Equal(t, "the ping", err, nil)
	case <-time.After(10 * time.Second):
		t.Error("the ping was not answered")
	}
	cancel()
	expect.Failure(t, <-read, "") // of the context or of the closed connection, whichever is seen first
	expect.Failed(socket.Read(t.Context()))(t, "closed")
}

func TestAFrameThatIsTooLargeEndsTheSocket(t *testing.T) { // S28
	socket := dial(t, func(ctx context.Context, conn *websocket.Conn) {
		_ = conn.Write(ctx, websocket.MessageText, []byte(strings.Repeat(" ", eventsub.MaxBody+1)))
		_, _, _ = conn.Read(ctx)
	})
	expect.Failed(socket.Read(t.Context()))(t, "limited at 65537 bytes")
}

func TestASocketFollowsNoRedirect(t *testing.T) { // S28
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host got a request") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	expect.Failed(twitchapi.NewSockets(server.Client()).Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")))(t, "307")
}
