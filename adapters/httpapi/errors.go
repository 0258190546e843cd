package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Codes of errors that section 3.5 has none for: those of HTTP itself, the one
// that comes with idempotency keys (decision A9), and the one answer that only a
// worker gets.
const (
	routeNotFound    monitor.Code = "ROUTE_NOT_FOUND"
	methodNotAllowed monitor.Code = "METHOD_NOT_ALLOWED"
	requestTimeout   monitor.Code = "REQUEST_TIMEOUT"
	keyReused        monitor.Code = "IDEMPOTENCY_KEY_REUSED"
	bodyTooLarge     monitor.Code = "BODY_TOO_LARGE"
	unsupportedMedia monitor.Code = "UNSUPPORTED_MEDIA_TYPE"
	superseded       monitor.Code = "SUPERSEDED"
	unavailable      monitor.Code = "UNAVAILABLE"
)

const retryAfterHeader = "Retry-After"

// httpStatus is the one table from codes to HTTP (section 3.5). retryAfter is
// in seconds; 0: the header is not sent (decision A5). It is a guess, for where
// nothing better is known: when a monitor will end, nobody can tell.
var httpStatus = map[monitor.Code]struct{ status, retryAfter int }{
	monitor.InvalidURL:          {http.StatusBadRequest, 0},
	monitor.InvalidConfig:       {http.StatusBadRequest, 0},
	monitor.Unauthorized:        {http.StatusUnauthorized, 0},
	monitor.NotFound:            {http.StatusNotFound, 0},
	routeNotFound:               {http.StatusNotFound, 0},
	methodNotAllowed:            {http.StatusMethodNotAllowed, 0},
	requestTimeout:              {http.StatusRequestTimeout, 0},
	monitor.Duplicate:           {http.StatusConflict, 0},
	keyReused:                   {http.StatusConflict, 0},
	superseded:                  {http.StatusConflict, 0},
	bodyTooLarge:                {http.StatusRequestEntityTooLarge, 0},
	unsupportedMedia:            {http.StatusUnsupportedMediaType, 0},
	monitor.RateLimitExceeded:   {http.StatusTooManyRequests, 60},
	monitor.MaxMonitorsExceeded: {http.StatusTooManyRequests, 60},
	monitor.Internal:            {http.StatusInternalServerError, 0},
	unavailable:                 {http.StatusServiceUnavailable, 5},
}

type errorBody struct {
	Error struct {
		Code    monitor.Code `json:"code"`
		Message string       `json:"message"`
	} `json:"error"`
}

// refusef makes an error with one of the codes above.
func refusef(code monitor.Code, format string, args ...any) error {
	return monitor.Errorf(code, format, args...)
}

// fail answers an error in the envelope and logs it when it is ours.
func (a *API) fail(c *gin.Context, err error) { a.refuse(c, a.shown(c, err)) }

// refuse answers in the envelope what the caller may see.
func (a *API) refuse(c *gin.Context, shown *monitor.Error) {
	row, known := httpStatus[shown.Code]
	if !known {
		row = httpStatus[monitor.Internal]
	}
	if row.retryAfter > 0 && c.Writer.Header().Get(retryAfterHeader) == "" {
		c.Header(retryAfterHeader, strconv.Itoa(row.retryAfter))
	}
	switch row.status {
	case http.StatusUnauthorized:
		c.Header("WWW-Authenticate", "ApiKey") // RFC 9110, 11.6.1
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		c.Header("Connection", "close") // the rest of the body is not read
	}
	var body errorBody
	body.Error.Code, body.Error.Message = shown.Code, shown.Message
	a.write(c, row.status, body)
}

// shown turns any error into one that the caller may see.
func (a *API) shown(c *gin.Context, err error) *monitor.Error {
	ctx := c.Request.Context()
	log := a.log.With("method", c.Request.Method, "route", c.FullPath())
	if id, err := monitor.ParseID(c.Param("monitor_id")); err == nil {
		log = log.With("monitor_id", string(id))
	}

	var coded *monitor.Error
	switch {
	case errors.As(err, &coded) && coded.Code != monitor.Internal:
		return coded
	case errors.Is(err, monitor.ErrSuperseded):
		return monitor.Errorf(superseded, "%v", monitor.ErrSuperseded)
	case errors.Is(err, registry.ErrKeyReused):
		return monitor.Errorf(keyReused, "this %s came with another request; a new request needs a new key", idempotencyHeader)
	case errors.Is(ctx.Err(), context.Canceled):
		log.Debug("the caller hung up", "error", err)
		return monitor.Errorf(unavailable, "the request was cancelled")
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		a.failures.say(log, slog.LevelWarn, "a request took too long", c.FullPath(), err)
		return monitor.Errorf(unavailable, "the request could not be answered in time; it may be repeated")
	}
	a.failures.say(log, slog.LevelError, "a request failed", c.FullPath(), err)
	return internalError()
}

// refused reports whether an error is the caller's to correct.
func refused(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal && httpStatus[coded.Code].status < http.StatusInternalServerError ||
		errors.Is(err, registry.ErrKeyReused)
}

func internalError() *monitor.Error {
	return monitor.Errorf(monitor.Internal, "the request failed for a reason of the server's own; its log has the details")
}
