package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Headers that carry a key (sections 8.6, 12.1).
const (
	publicKeyHeader   = "X-API-Key"
	internalKeyHeader = "X-Internal-API-Key"
)

// answer makes a gin handler of a function that returns an error.
func (a *API) answer(handle func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handle(c); err != nil {
			a.fail(c, err)
		}
	}
}

// write answers with body as JSON. Nothing is sent before all of it is encoded,
// so that a failure to encode can still be answered.
func (a *API) write(c *gin.Context, status int, body any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // metadata comes back as it was given
	if err := enc.Encode(body); err != nil {
		a.fail(c, fmt.Errorf("encode an answer: %w", err))
		return
	}
	c.Data(status, "application/json", b.Bytes())
}

// recovered answers a panic like any internal error and logs the request.
func (a *API) recovered(c *gin.Context) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			if err, is := p.(error); is && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // net/http drops the connection on this panic
			}
			a.log.Error("request handler panicked, only this request failed: report the defect with panic and stack", "method", c.Request.Method, "route", c.FullPath(),
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.Abort()
			if c.Writer.Written() {
				panic(http.ErrAbortHandler) // half an answer must not look whole
			}
			a.refuse(c, internalError())
		}
		a.log.Debug("request", "method", c.Request.Method, "route", c.FullPath(), "status", c.Writer.Status(),
			"duration_ms", time.Since(began).Milliseconds(), "client", c.ClientIP())
	}()
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Cache-Control", "no-store")
	c.Next()
}

// limited ends the request's context when its time is up.
func (a *API) limited(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), a.cfg.RequestTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// authenticated requires a key (section 12.1). It compares digests in constant time,
// so that neither the content nor the length of the key can be measured. It also
// protects paths that do not exist, so that callers without a key cannot find paths.
func (a *API) authenticated(header string, key [sha256.Size]byte, open []string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if slices.Contains(open, c.Request.URL.Path) {
			return
		}
		given := sha256.Sum256([]byte(c.GetHeader(header)))
		if subtle.ConstantTimeCompare(given[:], key[:]) != 1 {
			c.Abort()
			a.refuse(c, monitor.Errorf(monitor.Unauthorized, "the %s header is missing or wrong", header))
		}
	}
}
