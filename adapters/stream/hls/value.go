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

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// parseSeconds parses a decimal number of seconds: digits and at most one point, no
// sign, exponent or NaN. It refuses more than MaxDuration.
func parseSeconds(text []byte) (time.Duration, bool) {
	const maxLength = 32
	if len(text) > maxLength || len(bytes.Trim(text, "0123456789.")) > 0 {
		return 0, false
	}
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil || number > MaxDuration.Seconds() {
		return 0, false
	}
	return toDuration(number), true
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

// zoneFormats are those of ISO 8601. A time without a zone is ignored: its zone is
// unknown.
var zoneFormats = []string{"Z07:00", "Z0700", "Z07"}

// parseProgramTime parses EXT-X-PROGRAM-DATE-TIME. It returns the zero time for what
// it cannot parse; the fetch clock is used then (decision S1).
func parseProgramTime(text []byte) time.Time {
	const lastYear = 2200 // later ones are wrong, and do not fit into a time.Duration
	for _, zone := range zoneFormats {
		t, err := time.Parse("2006-01-02T15:04:05"+zone, string(text))
		if err == nil && t.Year() >= 1970 && t.Year() <= lastYear {
			return t.UTC()
		}
	}
	return time.Time{}
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
