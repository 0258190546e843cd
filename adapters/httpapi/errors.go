package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Codes beyond those of section 3.5: errors of HTTP itself, and refusals. A reused idempotency
// key (decision A9) and an older generation (decision O2) are refused. So is a key or token that
// does not permit the request (section 12.4, decision O9).
const (
	routeNotFound    monitor.Code = "ROUTE_NOT_FOUND"
	methodNotAllowed monitor.Code = "METHOD_NOT_ALLOWED"
	requestTimeout   monitor.Code = "REQUEST_TIMEOUT"
	keyReused        monitor.Code = "IDEMPOTENCY_KEY_REUSED"
	bodyTooLarge     monitor.Code = "BODY_TOO_LARGE"
	unsupportedMedia monitor.Code = "UNSUPPORTED_MEDIA_TYPE"
	superseded       monitor.Code = "SUPERSEDED"
	crossOrigin      monitor.Code = "CROSS_ORIGIN"
	forbidden        monitor.Code = "FORBIDDEN"

	rangeNotSatisfiable monitor.Code = "RANGE_NOT_SATISFIABLE"
	unavailable         monitor.Code = "UNAVAILABLE"
)

const retryAfterHeader = "Retry-After"

// httpStatus maps codes to HTTP statuses (section 3.5). retryAfter is the default of
// the header Retry-After in seconds; 0: the header is not sent (decision A5). The
// handler sets the header itself when it knows the time.
var httpStatus = map[monitor.Code]struct{ status, retryAfter int }{
	monitor.InvalidURL:          {http.StatusBadRequest, 0},
	monitor.InvalidConfig:       {http.StatusBadRequest, 0},
	monitor.Unauthorized:        {http.StatusUnauthorized, 0},
	monitor.NotFound:            {http.StatusNotFound, 0},
	routeNotFound:               {http.StatusNotFound, 0},
	methodNotAllowed:            {http.StatusMethodNotAllowed, 0},
	requestTimeout:              {http.StatusRequestTimeout, 0},
	monitor.Duplicate:           {http.StatusConflict, 0},
	monitor.Ended:               {http.StatusConflict, 0},
	keyReused:                   {http.StatusConflict, 0},
	superseded:                  {http.StatusConflict, 0},
	crossOrigin:                 {http.StatusForbidden, 0},
	forbidden:                   {http.StatusForbidden, 0},
	keyring.KeyNotFound:         {http.StatusNotFound, 0},
	bodyTooLarge:                {http.StatusRequestEntityTooLarge, 0},
	unsupportedMedia:            {http.StatusUnsupportedMediaType, 0},
	monitor.RateLimitExceeded:   {http.StatusTooManyRequests, 60},
	monitor.MaxMonitorsExceeded: {http.StatusTooManyRequests, 60},
	incident.NotFound:           {http.StatusNotFound, 0},
	evidence.NotFound:           {http.StatusNotFound, 0},
	evidence.Conflict:           {http.StatusConflict, 0},
	evidence.QuotaExceeded:      {http.StatusTooManyRequests, 60},
	evidence.LinkInvalid:        {http.StatusForbidden, 0},
	evidence.LinkExpired:        {http.StatusForbidden, 0},
	eventsub.Forged:             {http.StatusForbidden, 0},
	references.NotFound:         {http.StatusNotFound, 0},
	channels.NotFound:           {http.StatusNotFound, 0},
	channels.Duplicate:          {http.StatusConflict, 0},
	channels.Stopped:            {http.StatusConflict, 0},
	channels.Running:            {http.StatusConflict, 0},
	cookiejars.NotFound:         {http.StatusNotFound, 0},
	cookiejars.InUse:            {http.StatusConflict, 0},
	ingests.NotFound:            {http.StatusNotFound, 0},
	routing.DestinationNotFound: {http.StatusNotFound, 0},
	routing.SilenceNotFound:     {http.StatusNotFound, 0}, // routing.RouteNotFound is routeNotFound
	routing.OverrideNotFound:    {http.StatusNotFound, 0},
	routing.DeliveryNotFound:    {http.StatusNotFound, 0},
	routing.EventNotFound:       {http.StatusNotFound, 0},
	routing.StormNotFound:       {http.StatusNotFound, 0}, // on the page of a link only
	monitor.NameTaken:           {http.StatusConflict, 0},
	monitor.NobodyTold:          {http.StatusBadRequest, 0},
	rangeNotSatisfiable:         {http.StatusRequestedRangeNotSatisfiable, 0},
	monitor.Internal:            {http.StatusInternalServerError, 0},
	unavailable:                 {http.StatusServiceUnavailable, 5},
}

type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code       monitor.Code  `json:"code"`
	Message    string        `json:"message"`
	ExistingID string        `json:"existing_id,omitempty"`
	Problems   []problemBody `json:"problems,omitempty"` // if fields are to blame
}

// problemBody is one of the things that are wrong with a request.
type problemBody struct {
	Field      *string      `json:"field"`
	Code       monitor.Code `json:"code"`
	Message    string       `json:"message"`
	ExistingID string       `json:"existing_id,omitempty"`
}

func newProblemBody(e *monitor.Error) problemBody {
	return problemBody{wire.OrNull(e.Field), e.Code, e.Message, e.Existing}
}

func newErrorDetail(e *monitor.Error) errorDetail {
	detail := errorDetail{Code: e.Code, Message: e.Message, ExistingID: e.Existing}
	if problems := e.Problems(); len(problems) > 1 || e.Field != "" {
		detail.Problems = each(problems, newProblemBody)
	}
	return detail
}

// refusef makes an error with one of the codes above.
func refusef(code monitor.Code, format string, args ...any) error {
	return monitor.Errorf(code, format, args...)
}

// fail answers any error in the envelope, and logs an internal one.
func (r *responder) fail(c *gin.Context, err error) { r.refuse(c, r.callerError(c, err)) }

// refuse answers an error of the caller in the envelope.
func (r *responder) refuse(c *gin.Context, shown *monitor.Error) {
	row, known := httpStatus[shown.Code]
	if !known {
		row = httpStatus[monitor.Internal]
	}
	if row.retryAfter > 0 && c.Writer.Header().Get(retryAfterHeader) == "" {
		c.Header(retryAfterHeader, strconv.Itoa(row.retryAfter))
	}
	switch row.status {
	case http.StatusUnauthorized:
		r.unauthorized.Add(1)
		c.Header("WWW-Authenticate", "ApiKey") // RFC 9110, 11.6.1
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		c.Header("Connection", "close") // the rest of the body is not read
	}
	r.write(c, row.status, errorBody{newErrorDetail(shown)})
}

// callerError turns any error into one that the caller may see, and logs internal
// ones.
func (r *responder) callerError(c *gin.Context, err error) *monitor.Error {
	ctx := c.Request.Context()
	log := r.log.With("method", c.Request.Method, "route", c.FullPath())
	if id, err := monitor.ParseID(c.Param("monitor_id")); err == nil {
		log = log.With("monitor_id", string(id))
	}

	var coded *monitor.Error
	switch {
	case errors.As(err, &coded) && coded.Code != monitor.Internal:
		return coded
	case errors.Is(err, monitor.ErrSuperseded):
		return monitor.Errorf(superseded, "%v", monitor.ErrSuperseded)
	case errors.Is(err, monitors.ErrKeyReused):
		return monitor.Errorf(keyReused, "this %s came with another request; a new request needs a new key", idempotencyHeader)
	case errors.Is(err, incidents.ErrOpReused):
		return monitor.Errorf(keyReused, "this op_id came with another action on this incident; a new action needs a new op_id")
	case errors.Is(err, evidences.ErrBusy), errors.Is(err, evidences.ErrBlobBusy):
		return monitor.Errorf(unavailable, "%v; it may be repeated", busyCause(err))
	case errors.Is(ctx.Err(), context.Canceled):
		log.Debug("the caller closed the connection before the response", "error", err)
		return monitor.Errorf(unavailable, "the request was cancelled")
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		r.failures.log(log, slog.LevelWarn, "request not answered in time, its caller got 503 and may repeat it: check the database", c.FullPath(), err)
		return monitor.Errorf(unavailable, "the request could not be answered in time; it may be repeated")
	}
	r.failures.log(log, slog.LevelError, "request failed, its caller got 500: correct the cause that error names, usually the database", c.FullPath(), err)
	return internalError()
}

// refused reports whether the caller can correct an error.
func refused(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal && httpStatus[coded.Code].status < http.StatusInternalServerError ||
		errors.Is(err, monitors.ErrKeyReused)
}

// busyCause returns which of the two errors of evidence it is, without what wraps it.
func busyCause(err error) error {
	if errors.Is(err, evidences.ErrBusy) {
		return evidences.ErrBusy
	}
	return evidences.ErrBlobBusy
}

func internalError() *monitor.Error {
	return monitor.Errorf(monitor.Internal, "the gateway could not answer the request; its log has the details")
}
