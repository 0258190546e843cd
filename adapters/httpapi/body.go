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
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// formType is what curl -d sends by default.
const formType = "application/x-www-form-urlencoded"

// readJSON reads the body of a request. It accepts a request
// without Content-Type, because the specification requires none. It also accepts the
// Content-Type of a form, which curl -d sends by default. That is safe: a form on another
// website cannot send the header with the key, and its session is refused. Any other type
// is refused.
func readJSON(c *gin.Context) ([]byte, error) {
	return readBody(c, "application/json", formType)
}

// readFields reads the JSON object that a request to the public API has as its body. Its
// fields are known. Errors: those of readJSON and readObject.
func readFields(c *gin.Context, known ...string) (*object, error) {
	raw, err := readJSON(c)
	if err != nil {
		return nil, err
	}
	return readObject(raw, "", known...)
}

// readBody reads the body of a request as text. Its type is one of the accepted ones.
func readBody(c *gin.Context, accepted ...string) ([]byte, error) {
	body, err := readBytes(c, accepted...)
	if err == nil && !utf8.Valid(body) {
		err = refusef(monitor.InvalidConfig, "the body is not valid UTF-8")
	}
	return body, err
}

// readBytes reads the body of a request of one of the accepted types, of at most as many
// bytes as the row of its route says.
func readBytes(c *gin.Context, accepted ...string) ([]byte, error) {
	limit := c.GetInt64(contextMaxBody)
	if given := c.GetHeader("Content-Type"); given != "" {
		media, params, err := mime.ParseMediaType(given)
		charset := strings.ToLower(params["charset"])
		if err != nil || !slices.Contains(accepted, media) || (charset != "" && charset != "utf-8") {
			return nil, refusef(unsupportedMedia, "Content-Type is %.60q; accepted is %s", given, strings.Join(documented(accepted), " or "))
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
	case err != nil:
		return nil, cutBody(err)
	}
	return body, nil
}

// documented returns the accepted types that an error names: not that of a form.
func documented(accepted []string) []string {
	return slices.DeleteFunc(slices.Clone(accepted), func(t string) bool { return t == formType })
}

func tooLarge(limit int64) error {
	return refusef(bodyTooLarge, "the body is larger than %d bytes", limit)
}

// cutBody returns the refusal of a body that could not be read to its end because of err.
func cutBody(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refusef(requestTimeout, "the body did not arrive in time")
	}
	return refusef(monitor.InvalidConfig, "the body ended early")
}

// decode reads a JSON object into v, a pointer to a struct, as encoding/json does.
// It ignores unknown fields, because worker and gateway may be of different
// versions. It refuses a null or empty field, which would look like a missing one.
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
	if field := nullOrEmptyField(body, reflect.ValueOf(v).Elem()); field != "" {
		return refusef(monitor.InvalidConfig, "%s is null or empty; give it a value or leave it out", field)
	}
	return nil
}

// nullOrEmptyField returns the path of the first field of object that is null, an empty
// string or the zero time; "" if object has none. v is the struct into which object was
// decoded. A json.RawMessage field may be null.
func nullOrEmptyField(object json.RawMessage, v reflect.Value) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(object, &given) != nil {
		return ""
	}
	for f, value := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		raw, is := given[name]
		if !is || f.Type == reflect.TypeFor[json.RawMessage]() {
			continue
		}
		isTime := f.Type == reflect.TypeFor[time.Time]()
		switch {
		case string(raw) == "null", value.IsZero() && (isTime || value.Kind() == reflect.String):
			return name
		case f.Type == reflect.TypeFor[monitor.Statistics]():
			if field := nullCount(raw); field != "" {
				return name + "." + field
			}
		case value.Kind() == reflect.Pointer:
			if inner := nullOrEmptyField(raw, value.Elem()); inner != "" {
				return name + "." + inner
			}
		case value.Kind() == reflect.Struct && !isTime:
			if inner := nullOrEmptyField(raw, value); inner != "" {
				return name + "." + inner
			}
		}
	}
	return ""
}

// nullCount returns the first field of a statistics object that is null; "" if it has none.
func nullCount(raw json.RawMessage) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return ""
	}
	for field := range (monitor.Statistics{}).Fields() {
		if string(given[field]) == "null" {
			return field
		}
	}
	return ""
}

func notJSON(err error) error {
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		return refusef(monitor.InvalidConfig, "the body is not valid JSON: %v, at byte %d", err, syntax.Offset)
	}
	return refusef(monitor.InvalidConfig, "the body is not valid JSON: it ends early")
}
