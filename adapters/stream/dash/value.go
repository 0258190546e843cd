package dash

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// durations is xs:duration without a sign. Years and months, whose length is
// not certain, may only be 0, as some packagers write them.
var durations = regexp.MustCompile(`^P(?:0+Y)?(?:0+M)?(?:(\d{1,7})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,10})M)?(?:(\d{1,11})(?:\.(\d{0,30}))?S)?)?$`)

// parseDuration reads xs:duration, up to MaxTime, to the microsecond: the
// library counts in floating point, which has no more for times since 1970.
func parseDuration(text string) (time.Duration, bool) {
	const longest = 100
	if len(text) > longest {
		return 0, false
	}
	m := durations.FindStringSubmatch(strings.TrimSpace(text))
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

// exact is a duration as it was before the library counted in floating point.
func exact(d *mpd.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d).Round(time.Microsecond)
}

// parseTime reads xs:dateTime. One without a zone is in UTC. What cannot be
// read is no time.
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

// byteRange reads "first-last" (RFC 7233, 2.1).
func byteRange(text string) (*watch.ByteRange, bool) {
	from, to, both := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 63)
	last, errLast := strconv.ParseUint(to, 10, 63)
	if !both || err != nil || errLast != nil || last < first || last >= MaxRangeEnd {
		return nil, false
	}
	return &watch.ByteRange{Offset: int64(first), Length: int64(last-first) + 1}, true
}

// resolve makes reference absolute. Only http and https with a host are URLs
// that may be fetched.
func resolve(base *url.URL, reference string) (*url.URL, bool) {
	u, err := base.Parse(strings.TrimSpace(reference))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, false
	}
	u.Fragment, u.RawFragment = "", ""
	absolute := u.String()
	// A host that passes without a scheme may not pass with one.
	if _, err := url.Parse(absolute); err != nil || len(absolute) > MaxURL {
		return nil, false
	}
	return u, true
}
