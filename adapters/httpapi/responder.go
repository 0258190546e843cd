package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// responder writes the responses of all handlers: a body as JSON, or an error in the
// envelope of section 3.5. Its methods may be called concurrently.
type responder struct {
	log      *slog.Logger
	zone     *time.Location // of every time in a response
	failures failureLog

	unauthorized atomic.Int64 // answers with 401 since the start
}

// answer makes a gin handler of a function that returns an error.
func (r *responder) answer(handle func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handle(c); err != nil {
			r.fail(c, err)
		}
	}
}

// write answers with body as JSON. Nothing is sent before all of it is encoded,
// so that a failure to encode can still be answered.
func (r *responder) write(c *gin.Context, status int, body any) {
	line, err := wire.Encode(body)
	if err != nil {
		r.fail(c, fmt.Errorf("encode an answer: %w", err))
		return
	}
	c.Data(status, "application/json", append(line, '\n'))
}

// reply answers with 200 and body, unless err says why there is nothing to answer.
func (r *responder) reply(c *gin.Context, body any, err error) error {
	if err == nil {
		r.write(c, http.StatusOK, body)
	}
	return err
}

// each shows all elements of a list, which is never null.
func each[T, B any](all []T, show func(T) B) []B {
	shown := make([]B, 0, len(all))
	for _, one := range all {
		shown = append(shown, show(one))
	}
	return shown
}

// localTime shows a time in the server's zone, to the millisecond (decision A11).
func (r *responder) localTime(t time.Time) time.Time { return wire.Time(t, r.zone) }

// localTimeOrNull shows the zero time as null.
func (r *responder) localTimeOrNull(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return wire.TimeOrNull(*t, r.zone)
}
