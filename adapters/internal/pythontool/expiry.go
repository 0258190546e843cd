package pythontool

import (
	"regexp"
	"strconv"
	"time"
)

// expiry matches the Unix time in a signed URL, as YouTube writes it in a path or query.
// Ten digits last until the year 2286.
var expiry = regexp.MustCompile(`(?:/expire/|[?&]expire=)([1-9][0-9]{0,9})(?:[/?&#]|$)`)

// Expiry returns the earliest time at which a server begins to refuse one of these signed
// URLs. Zero: none of them has such a time.
func Expiry(urls ...string) (earliest time.Time) {
	for _, u := range urls {
		m := expiry.FindStringSubmatch(u)
		if m == nil {
			continue
		}
		seconds, err := strconv.ParseInt(m[1], 10, 64)
		if at := time.Unix(seconds, 0).UTC(); err == nil && (earliest.IsZero() || at.Before(earliest)) {
			earliest = at
		}
	}
	return earliest
}
