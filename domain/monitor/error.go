package monitor

import "fmt"

// Code is an error code of the API (section 3.5).
type Code string

// The error codes of section 3.5, which decide the HTTP status.
const (
	InvalidURL          Code = "INVALID_URL"           // 400
	InvalidConfig       Code = "INVALID_CONFIG"        // 400
	Unauthorized        Code = "UNAUTHORIZED"          // 401
	NotFound            Code = "MONITOR_NOT_FOUND"     // 404
	Duplicate           Code = "DUPLICATE_MONITOR"     // 409
	RateLimitExceeded   Code = "RATE_LIMIT_EXCEEDED"   // 429
	MaxMonitorsExceeded Code = "MAX_MONITORS_EXCEEDED" // 429
	Internal            Code = "INTERNAL_ERROR"        // 500
)

// Error is what a caller may see: a code of section 3.5 and a message that
// says what was wrong, what was expected and, where it helps, what to do.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an *Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
