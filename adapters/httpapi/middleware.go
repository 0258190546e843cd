package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Headers that carry a key (sections 8.6, 12.1).
const (
	publicKeyHeader   = "X-API-Key"
	internalKeyHeader = "X-Internal-API-Key"
)

// recovered answers a panic like any internal error and logs the request.
func (r *responder) recovered(c *gin.Context) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			if err, is := p.(error); is && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // net/http drops the connection on this panic
			}
			r.log.Error("request handler panicked, only this request failed: report the defect with panic and stack", "method", c.Request.Method, "route", c.FullPath(),
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.Abort()
			if c.Writer.Written() {
				panic(http.ErrAbortHandler) // half an answer must not look whole
			}
			r.refuse(c, internalError())
		}
		r.log.Debug("request", "method", c.Request.Method, "route", c.FullPath(), "status", c.Writer.Status(),
			"duration_ms", time.Since(began).Milliseconds(), "client", c.ClientIP())
	}()
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Cache-Control", "no-store")
	c.Next()
}

// contextMaxBody is the name under which a gin.Context holds the most bytes of its request's body.
const contextMaxBody = "max_body"

// limited sets the limits of a request. It ends the request's context when its time is up.
func (a *API) limited(r route) gin.HandlerFunc {
	timeout := cmp.Or(r.special.timeout, a.cfg.RequestTimeout)
	return func(c *gin.Context) {
		c.Set(contextMaxBody, r.maxBody())
		if timeout == noTimeout {
			return
		}
		ctx, cancel := context.WithTimeout(c.Request.Context(), timeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}

// authenticated requires a key (section 12.1), or a session if there is a dashboard. limit
// limits wrong keys.
func (a *API) authenticated(r route, limit *keyLimit) gin.HandlerFunc {
	return func(c *gin.Context) {
		if r.right == noKey {
			return
		}
		var err error
		if given := c.GetHeader(publicKeyHeader); given != "" {
			err = acceptKey(c, given, a.keys, limit)
		} else if a.signIn != nil {
			err = a.signIn.accept(c)
		}
		key, accepted := actorOf(c)
		if err == nil && !accepted {
			err = refusef(monitor.Unauthorized, "the %s header is missing or wrong", publicKeyHeader)
		}
		if err != nil {
			c.Abort()
			a.fail(c, err)
			return
		}
		connlimit.Accept(c.Request.Context())
		ctx := c.Request.Context()
		if s, is := sessionOf(c); is {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.expires.Sub(a.cfg.Now())) // also of a feed
			defer cancel()
		}
		if r.special.timeout == noTimeout { // other requests end soon
			var stop func()
			ctx, stop = a.keys.whileActive(ctx, key)
			defer stop()
		}
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}

// tokenGeneration is the key of the request's context for the generation of its token.
const tokenGeneration = "token_generation"

// authenticatedWorker requires the token of a worker of the monitor in the path (decision
// O9). It compares in constant time. A handler that reads the generation compares it with
// that of the token (checkGeneration).
func authenticatedWorker(internalAPIKey string, r *responder) gin.HandlerFunc {
	tokens := monitor.NewTokenKey(internalAPIKey)
	return func(c *gin.Context) {
		id, generation, genuine := tokens.Check(c.GetHeader(internalKeyHeader))
		wanted := c.Param("monitor_id") // empty for a path that does not exist
		switch {
		case !genuine:
			c.Abort()
			r.refuse(c, monitor.Errorf(monitor.Unauthorized, "the %s header is missing or wrong", internalKeyHeader))
		case wanted != "" && wanted != string(id):
			c.Abort()
			r.refuse(c, monitor.Errorf(forbidden, "the token in %s is of another monitor", internalKeyHeader))
		default:
			connlimit.Accept(c.Request.Context())
			c.Set(tokenGeneration, generation)
		}
	}
}

// checkGeneration refuses a generation that is not that of the token (decision O9). A
// missing one is refused as such by what reads the request.
func checkGeneration(c *gin.Context, generation int) error {
	if of := c.GetInt(tokenGeneration); generation != 0 && generation != of {
		return refusef(forbidden, "the token in %s is of generation %d, the request of generation %d", internalKeyHeader, of, generation)
	}
	return nil
}

// acceptKey sets the key of a request that presents one. Nothing is set if it is wrong.
func acceptKey(c *gin.Context, given string, keys *authenticator, limit *keyLimit) error {
	if err := limit.check(c); err != nil {
		return err
	}
	key, right, err := keys.find(c.Request.Context(), given)
	switch {
	case err != nil:
		return err
	case right:
		c.Set(contextActor, key)
	}
	limit.count(c, right)
	return nil
}

// matchesRoute reports whether a path is one of a route, whatever the method: a route
// that needs no key needs none to refuse another method. Parameters of a route begin
// with a colon and match one element that is not empty.
func matchesRoute(route, path string) bool {
	wanted, given := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(wanted, given, func(w, g string) bool { return w == g || strings.HasPrefix(w, ":") && g != "" })
}
