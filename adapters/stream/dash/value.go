package dash

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// durationPattern matches xs:duration without a sign. Years and months have no fixed
// length and must be 0; some packagers write them.
var durationPattern = regexp.MustCompile(`^P(?:0+Y)?(?:0+M)?(?:(\d{1,7})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,10})M)?(?:(\d{1,11})(?:\.(\d{0,30}))?S)?)?$`)

// parseDuration parses xs:duration up to MaxTime and rounds it to microseconds. The library
// uses floating point, which is exact only to microseconds for times since 1970.
func parseDuration(text string) (time.Duration, bool) {
	const maxBytes = 100
	if len(text) > maxBytes {
		return 0, false
	}
	m := durationPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || strings.HasSuffix(m[0], "P") || strings.HasSuffix(m[0], "T") {
		return 0, false
	}
	var seconds int64
	for i, unit := range []int64{24 * 60 * 60, 60 * 60, 60, 1} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil {
			return 0, false
		}
		seconds += n * unit
	}
	fraction, err := strconv.ParseFloat("0."+m[5]+"0", 64)
	d := time.Duration(math.Round(fraction*1e6)) * time.Microsecond
	if err != nil || seconds > int64(MaxTime/time.Second) || time.Duration(seconds)*time.Second > MaxTime-d {
		return 0, false
	}
	return time.Duration(seconds)*time.Second + d, true
}

// roundedDuration removes the library's rounding errors from a duration that
// parseDuration accepted. It returns 0 if the attribute is missing.
func roundedDuration(d *mpd.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d).Round(time.Microsecond)
}

// parseTime parses xs:dateTime, in UTC if it has no zone. It returns the zero time if
// text is not a time from 1970 to 2200.
func parseTime(text string) time.Time {
	const firstYear, lastYear = 1970, 2200 // leaves room to add MaxTime, and for time.Duration
	for _, zone := range []string{"Z07:00", "Z0700", ""} {
		t, err := time.Parse("2006-01-02T15:04:05"+zone, strings.TrimSpace(text))
		if err == nil && t.Year() >= firstYear && t.Year() <= lastYear {
			return t.UTC()
		}
	}
	return time.Time{}
}

// parseByteRange parses "first-last" (RFC 7233, 2.1).
func parseByteRange(text string) (*watch.ByteRange, bool) {
	from, to, hasDash := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 63)
	last, errLast := strconv.ParseUint(to, 10, 63)
	if !hasDash || err != nil || errLast != nil || last < first || last >= MaxRangeEnd {
		return nil, false
	}
	return &watch.ByteRange{Offset: int64(first), Length: int64(last-first) + 1}, true
}

// resolve returns a reference as an absolute URL without a fragment. It returns false
// if that is not an http or https URL with a host, of up to MaxURL bytes.
func resolve(base *url.URL, text string) (*url.URL, bool) {
	return reference.Resolve(base, strings.TrimSpace(text), MaxURL)
}

// resolveAll resolves a reference against every base. It returns false if the first base gives
// no URL. The mirrors are the different URLs that further bases give.
func resolveAll(bases []*url.URL, text string) (first *url.URL, mirrors []string, ok bool) {
	if first, ok = resolve(bases[0], text); !ok {
		return nil, nil, false
	}
	for _, base := range bases[1:] {
		if u, ok := resolve(base, text); ok && u.String() != first.String() {
			mirrors = append(mirrors, u.String())
		}
	}
	return first, mirrors, true
}

// isWholeNumber reports whether the library can read an attribute as a number. Entities are
// left to the library.
func isWholeNumber(name, text string) bool {
	text = strings.TrimSpace(text)
	var err error
	switch name {
	case "r", "eptDelta":
		_, err = strconv.ParseInt(text, 10, 64)
	case "t", "n", "d", "presentationTimeOffset":
		_, err = strconv.ParseUint(text, 10, 64)
	default:
		_, err = strconv.ParseUint(text, 10, 32)
	}
	return err == nil || strings.Contains(text, "&")
}
