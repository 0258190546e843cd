package monitor

import (
	"errors"
	"fmt"
	"strings"
)

// Code is an error code of the API (section 3.5).
type Code string

// The error codes of section 3.5.
const (
	InvalidURL          Code = "INVALID_URL"
	InvalidConfig       Code = "INVALID_CONFIG"
	Unauthorized        Code = "UNAUTHORIZED"
	NotFound            Code = "MONITOR_NOT_FOUND"
	Ended               Code = "MONITOR_ENDED" // section 16.6
	Duplicate           Code = "DUPLICATE_MONITOR"
	RateLimitExceeded   Code = "RATE_LIMIT_EXCEEDED"
	MaxMonitorsExceeded Code = "MAX_MONITORS_EXCEEDED"
	Internal            Code = "INTERNAL_ERROR"
)

// Error is an error that a caller may see. Its message names the wrong value and the
// accepted ones, and the remedy where one helps.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an *Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// DuplicateOf refuses a registration of a stream that an active monitor watches.
func DuplicateOf(stream StreamURL, watchedBy ID) *Error {
	return Errorf(Duplicate, "%s is already being watched by %s; stop that monitor first", stream, watchedBy)
}

// EndedAlready refuses a change of a monitor that has ended.
func EndedAlready(id ID, status Status) *Error {
	return Errorf(Ended, "monitor %s has ended (%s) and cannot be changed; register the stream again", id, status)
}

// TooMany refuses a registration while the maximum of monitors is active.
func TooMany(active, maximum int) *Error {
	return Errorf(MaxMonitorsExceeded, "%d monitors are active and %d is the maximum; stop one or wait until one has ended", active, maximum)
}

// Join makes one error of all refusals of a request, so that the caller can
// correct them at once. nil errors are left out. The code is InvalidURL if all
// are, else InvalidConfig; the messages follow each other as sentences. An error
// that is no refusal with one of these codes is returned alone.
func Join(errs ...error) error {
	code := InvalidURL
	var messages []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		refusal, is := errors.AsType[*Error](err)
		if !is || refusal.Code != InvalidURL && refusal.Code != InvalidConfig {
			return err
		}
		if refusal.Code == InvalidConfig {
			code = InvalidConfig
		}
		messages = append(messages, refusal.Message)
	}
	if len(messages) == 0 {
		return nil
	}
	return Errorf(code, "%s", strings.Join(messages, ". "))
}

// FieldError is the error of one field of a request.
type FieldError struct {
	Field string // its name in the request, such as stream_url
	Err   error  // *Error
}
