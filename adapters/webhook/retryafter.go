package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfterMax keeps a nonsensical wish from overflowing; the policy of the
// dispatcher cuts far lower.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the Retry-After header of RFC 9110, section 10.2.3: seconds,
// or a date. An invalid value and a date in the past are 0.
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
