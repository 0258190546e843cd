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

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// seconds reads a decimal number of seconds: digits and at most one point, no
// sign, no exponent, no NaN. More than MaxDuration is refused.
func seconds(text []byte) (time.Duration, bool) {
	const longest = 32
	if len(text) > longest || len(bytes.Trim(text, "0123456789.")) > 0 {
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

// ivBytes is the length of an initialisation vector.
const ivBytes = 16

// vector reads an initialisation vector: 0x and up to 32 hexadecimal digits,
// a number of 128 bits (RFC 8216, 4.2 and 4.3.2.4).
func vector(text string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(strings.ToLower(text), "0x")
	missing := 2*ivBytes - len(digits)
	if !ok || digits == "" || missing < 0 {
		return nil, false
	}
	iv, err := hex.DecodeString(strings.Repeat("0", missing) + digits)
	return iv, err == nil
}

// byteRange reads "length[@offset]" (RFC 8216, 4.3.2.2). An offset that is not
// stated comes back as -1.
func byteRange(text []byte) (watch.ByteRange, bool) {
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

// zones are the ways ISO 8601 writes a zone. A time without one is not used:
// it could be any of them.
var zones = []string{"Z07:00", "Z0700", "Z07"}

// programTime reads EXT-X-PROGRAM-DATE-TIME. What cannot be read is no time,
// and no reason to refuse the playlist: there is the fetch clock (decision S1).
func programTime(text []byte) time.Time {
	const lastYear = 2200 // later ones are no clock, and do not fit a time.Duration
	for _, zone := range zones {
		t, err := time.Parse("2006-01-02T15:04:05"+zone, string(text))
		if err == nil && t.Year() >= 1970 && t.Year() <= lastYear {
			return t.UTC()
		}
	}
	return time.Time{}
}

// notAURL is what is wrong with a reference that resolve refuses.
var notAURL = fmt.Sprintf("not an http or https URL of at most %d bytes", MaxURL)

// resolve makes reference absolute. Only http and https with a host are URLs
// that may be fetched, and only up to MaxURL bytes of them.
func resolve(base *url.URL, reference string) (string, bool) {
	u, err := base.Parse(reference)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	absolute := u.String()
	if len(absolute) > MaxURL {
		return "", false
	}
	// A host that passes without a scheme may not pass with one.
	if _, err := url.Parse(absolute); err != nil {
		return "", false
	}
	return absolute, true
}
