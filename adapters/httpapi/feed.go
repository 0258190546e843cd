package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// feedWriteTimeout bounds one write to a reader. A connection that takes none for so
// long is closed; the reader continues by its position.
const feedWriteTimeout = 10 * time.Second

// Media types of the feed.
const (
	eventStream = "text/event-stream"
	ndjson      = "application/x-ndjson"
)

// feedHandlers answers the requests about the feed (section 16.4).
type feedHandlers struct {
	*responder

	feed *feeds.Feed
}

// feedRequest says how a client reads the feed.
type feedRequest struct {
	from   feed.Position
	sse    bool // else NDJSON
	follow bool // else it ends with the newest entry

	thumbnails bool // with the announcements of thumbnails
}

// readFeedRequest reads the format from Accept. If it names none, NDJSON follows from
// the parameters after and follow, else Server-Sent Events. A Last-Event-ID that is no
// position counts as none, because an EventSource repeats it for ever.
func readFeedRequest(c *gin.Context) (feedRequest, error) {
	query, err := readQuery(c, "after", "follow", "thumbnails")
	if err != nil {
		return feedRequest{}, err
	}
	accept := strings.Join(c.Request.Header.Values("Accept"), ",")
	r := feedRequest{sse: strings.Contains(accept, eventStream)}
	if !r.sse && !strings.Contains(accept, ndjson) {
		r.sse = !query.Has("after") && !query.Has("follow")
	}
	if r.follow, err = readBool(query, "follow", r.sse); err != nil {
		return r, err
	}
	if r.sse && !r.follow {
		return r, refusef(monitor.InvalidConfig, "follow=false is for %s; %s always follows", ndjson, eventStream)
	}
	if r.thumbnails, err = readBool(query, "thumbnails", false); err != nil {
		return r, err
	}
	if after := query.Get("after"); after != "" {
		position, ok := feed.ParsePosition(after)
		if !ok {
			return r, refusef(monitor.InvalidConfig, "after is %.80q; accepted is the id of an entry, or nothing", after)
		}
		r.from = position
	}
	if id := c.GetHeader("Last-Event-ID"); id != "" {
		r.from, _ = feed.ParsePosition(id)
	}
	return r, nil
}

// read is GET /api/v1/feed.
func (h feedHandlers) read(c *gin.Context) error {
	request, err := readFeedRequest(c)
	if err != nil {
		return err
	}
	reader, err := h.feed.Follow(keyOfActor(c).ID, request.from)
	switch {
	case errors.Is(err, feeds.ErrTooManyReaders), errors.Is(err, feeds.ErrTooManyReadersOfKey):
		return refusef(unavailable, "%v; close one or connect to another gateway", err)
	case errors.Is(err, feeds.ErrNotFollowing):
		return refusef(unavailable, "%v", err)
	case err != nil:
		return err
	}
	defer reader.Close()
	if !request.follow {
		return h.writePages(c, request.from)
	}
	if request.thumbnails {
		reader.ShowThumbnails()
	}
	w := newFeedWriter(c, request.sse)
	if err := w.begin(); err != nil {
		return nil // the reader is gone
	}
	for {
		messages, err := reader.Next(c.Request.Context())
		if err != nil || w.write(messages) != nil {
			return nil // the feed has ended, or the reader is gone
		}
	}
}

// writePages writes NDJSON until there is nothing new. Each page has the time limit of a
// request. If a query fails after the beginning, the connection is closed.
func (h feedHandlers) writePages(c *gin.Context, from feed.Position) error {
	w := newFeedWriter(c, false)
	for {
		messages, err := h.readPage(c.Request.Context(), from)
		switch {
		case err != nil && w.begun:
			h.fail(c, err)
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		case len(messages) == 0:
			return w.begin()
		}
		if err := w.write(messages); err != nil {
			h.log.Debug("reader of the feed has gone", "error", err)
			return nil
		}
		from = messages[len(messages)-1].Position
	}
}

func (h feedHandlers) readPage(ctx context.Context, from feed.Position) ([]feed.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, feedWriteTimeout)
	defer cancel()
	return h.feed.Read(ctx, from)
}

// feedWriter writes messages to one reader.
type feedWriter struct {
	response gin.ResponseWriter
	control  *http.ResponseController
	sse      bool
	begun    bool
}

func newFeedWriter(c *gin.Context, sse bool) *feedWriter {
	return &feedWriter{response: c.Writer, control: http.NewResponseController(c.Writer), sse: sse}
}

// begin sends the headers at once, so that the client knows that it is connected. It
// ends the deadlines of the server, which would end the connection.
func (w *feedWriter) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	_ = w.control.SetReadDeadline(time.Time{}) // a recorder in a test has no deadlines
	header := w.response.Header()
	header.Set("Content-Type", ndjson)
	header.Set("X-Accel-Buffering", "no") // nginx would hold messages back
	if w.sse {
		header.Set("Content-Type", eventStream)
	}
	w.response.WriteHeader(http.StatusOK)
	return w.send(func() error {
		if !w.sse {
			return nil
		}
		// Readers that lose their gateway at the same time do not come back at the same time.
		_, err := fmt.Fprintf(w.response, "retry: %d\n\n", 1000+rand.IntN(2000))
		return err
	})
}

// write sends messages under one deadline. All readers share the bytes of a message. A
// copy for each would take gigabytes when hundreds get state.replace at once.
func (w *feedWriter) write(messages []feed.Message) error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.send(func() error {
		for _, m := range messages {
			head, tail := "", "\n"
			if w.sse {
				head, tail = sseFrame(m)
			}
			for _, part := range [][]byte{[]byte(head), m.Line, []byte(tail)} {
				if _, err := w.response.Write(part); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// sseFrame returns what stands before and after the line of a message in Server-Sent
// Events. A message that is no entry has no id.
func sseFrame(m feed.Message) (head, tail string) {
	if id := m.Position.String(); id != "" {
		head = "id: " + id + "\n"
	}
	return head + "event: " + string(m.Type) + "\ndata: ", "\n\n"
}

// send writes and flushes within feedWriteTimeout. It removes the deadline again,
// because one that passes between two writes ends an HTTP/2 stream.
func (w *feedWriter) send(write func() error) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(feedWriteTimeout))
	defer func() { _ = w.control.SetWriteDeadline(time.Time{}) }()
	if err := write(); err != nil {
		return err
	}
	return w.control.Flush()
}
