package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // metadata comes back as it was given
	if err := enc.Encode(body); err != nil {
		r.fail(c, fmt.Errorf("encode an answer: %w", err))
		return
	}
	c.Data(status, "application/json", b.Bytes())
}

// localTime shows a time in the server's zone, to the millisecond (decision A11).
func (r *responder) localTime(t time.Time) time.Time { return t.In(r.zone).Truncate(time.Millisecond) }

// localTimeOrNull shows the zero time as null.
func (r *responder) localTimeOrNull(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	shown := r.localTime(*t)
	return &shown
}

// orNull shows a zero value as null: no status was received, no error happened.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
