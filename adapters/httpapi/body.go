package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// readJSON reads the body of a request, of at most limit bytes. The
// specification asks for no Content-Type: a missing one is taken for JSON, and
// so is that of a form, which curl -d says of whatever it sends. That opens no
// door to other sites' forms, because they cannot send a key's header. Any
// other is refused.
func readJSON(c *gin.Context, limit int64) ([]byte, error) {
	if given := c.GetHeader("Content-Type"); given != "" {
		media, params, err := mime.ParseMediaType(given)
		charset := strings.ToLower(params["charset"])
		if err != nil || (media != "application/json" && media != "application/x-www-form-urlencoded") || (charset != "" && charset != "utf-8") {
			return nil, refusef(unsupportedMedia, "Content-Type is %.60q; accepted is application/json", given)
		}
	}
	if given := c.GetHeader("Content-Encoding"); given != "" && !strings.EqualFold(given, "identity") {
		return nil, refusef(unsupportedMedia, "Content-Encoding is %.60q; accepted is none", given)
	}
	if c.Request.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refusef(requestTimeout, "the body did not arrive in time")
	case err != nil:
		return nil, refusef(monitor.InvalidConfig, "the body ended early")
	case !utf8.Valid(body):
		return nil, refusef(monitor.InvalidConfig, "the body is not valid UTF-8")
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return refusef(bodyTooLarge, "the body is larger than %d bytes", limit)
}

// decode reads the one JSON object that body is into v as encoding/json does,
// unknown fields ignored. It is for the internal API, where worker and gateway
// may be of different versions.
func decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return notJSON(err)
	case bytes.TrimLeft(body, " \t\r\n")[0] != '{':
		return refusef(monitor.InvalidConfig, "the body is not a JSON object")
	case errors.As(err, &wrong):
		return refusef(monitor.InvalidConfig, "%s cannot be a JSON %s", wrong.Field, wrong.Value)
	case err != nil:
		return refusef(monitor.InvalidConfig, "%.300s", fmt.Sprint(err))
	}
	return nil
}

func notJSON(err error) error {
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		return refusef(monitor.InvalidConfig, "the body is not valid JSON: %v, at byte %d", err, syntax.Offset)
	}
	return refusef(monitor.InvalidConfig, "the body is not valid JSON: it ends early")
}
