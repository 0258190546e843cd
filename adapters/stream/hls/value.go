package hls

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// isDecimal reports whether text is a number of digits and at most one point. The library
// takes signs, exponents and NaN, too.
func isDecimal(text []byte) bool {
	const maxLength = 32
	points := bytes.Count(text, []byte("."))
	return len(text) <= maxLength && points <= 1 && len(text) > points && len(bytes.Trim(text, "0123456789.")) == 0
}

// parseSeconds parses a decimal number of at most MaxDuration; 0: text is none.
func parseSeconds(text []byte) time.Duration {
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !isDecimal(text) || number > MaxDuration.Seconds() {
		return 0
	}
	return toDuration(number)
}

func toDuration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// ivBytes is the length of an initialization vector.
const ivBytes = 16

// parseIV parses an initialization vector, a number of 128 bits: 0x and up to 32
// hexadecimal digits (RFC 8216, 4.2 and 4.3.2.4).
func parseIV(text string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(strings.ToLower(text), "0x")
	missing := 2*ivBytes - len(digits)
	if !ok || digits == "" || missing < 0 {
		return nil, false
	}
	iv, err := hex.DecodeString(strings.Repeat("0", missing) + digits)
	return iv, err == nil
}

// parseByteRange parses "length[@offset]" (RFC 8216, 4.3.2.2). A missing offset is
// returned as -1.
func parseByteRange(text []byte) (watch.ByteRange, bool) {
	length, offset, stated := bytes.Cut(text, []byte("@"))
	r := watch.ByteRange{Offset: -1}
	n, err := strconv.ParseUint(string(length), 10, 63)
	if err != nil || n == 0 || n > MaxRangeEnd {
		return r, false
	}
	r.Length = int64(n)
	if stated {
		at, err := strconv.ParseUint(string(offset), 10, 63)
		if err != nil || at > MaxRangeEnd-n {
			return r, false
		}
		r.Offset = int64(at)
	}
	return r, true
}

// parseProgramTime parses EXT-X-PROGRAM-DATE-TIME. It returns the zero time for what
// it cannot parse; the fetch clock is used then (decision S1). So it does for a time without a
// zone, which is unknown.
func parseProgramTime(text []byte) time.Time {
	const lastYear = 2200 // later ones are wrong, and do not fit into a time.Duration
	t, err := m3u8.FullTimeParse(string(text))
	if err != nil || t.Year() < 1970 || t.Year() > lastYear {
		return time.Time{}
	}
	return t.UTC()
}

// Reasons for which a reference is not used.
var urlProblem = fmt.Sprintf("not an http or https URL of at most %d bytes", MaxURL)

const variableProblem = "with a variable (EXT-X-DEFINE), which is not supported"

// resolve returns the absolute URL of a reference, or the problem for which it is not used.
func resolve(base *url.URL, text string) (absolute, problem string) {
	if strings.Contains(text, "{$") {
		return "", variableProblem
	}
	u, ok := reference.Resolve(base, text, MaxURL)
	if !ok {
		return "", urlProblem
	}
	return u.String(), ""
}
