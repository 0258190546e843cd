package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest accepted Retry-After. It prevents an overflow; those who
// wait have much lower limits.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the Retry-After header of RFC 9110, section 10.2.3: seconds,
// or a date. It returns 0 for an invalid value and for a date in the past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
