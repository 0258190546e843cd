package httpapi

import (
	"crypto/sha256"
	"fmt"
	"regexp"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Headers of a repeatable registration (decision A9).
const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
)

const maxIdempotencyKey = 255 // characters

var idempotencyKeyForm = regexp.MustCompile(fmt.Sprintf(`^[!-~]{1,%d}$`, maxIdempotencyKey))

// idempotencyKey reads the Idempotency-Key of a request. The same value under another API
// key is another key. given reports whether the request has the header.
func idempotencyKey(c *gin.Context) (key monitors.Digest, given bool, err error) {
	values := c.Request.Header.Values(idempotencyHeader)
	switch {
	case len(values) == 0:
		return key, false, nil
	case len(values) > 1:
		return key, true, refusef(monitor.InvalidConfig, "%s is given %d times; accepted is one", idempotencyHeader, len(values))
	case !idempotencyKeyForm.MatchString(values[0]):
		return key, true, refusef(monitor.InvalidConfig, "%s is %.40q (%d characters); accepted are 1 to %d visible ASCII characters",
			idempotencyHeader, values[0], len(values[0]), maxIdempotencyKey)
	}
	return sha256.Sum256(append(keyOf(c), values[0]...)), true, nil
}
