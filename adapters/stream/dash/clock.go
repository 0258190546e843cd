package dash

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
)

// clockKind says whose time the time of a presentation is. A later one is better.
type clockKind int

const (
	hostClock   clockKind = iota // this machine's, which may be wrong by minutes
	serverClock                  // that of the server which sent the MPD
	utcTiming                    // the one by which the MPD's segments are made (ISO/IEC 23009-1, 5.8.4.11)
)

// timeServerLimits bound the questions to the time servers that an MPD names.
const (
	timeServerTimeout  = 2 * time.Second  // for all time servers of one MPD
	maxTimeServers     = 3                // of one MPD
	maxTimeBytes       = 256              // of an answer
	timeServerInterval = 10 * time.Minute // between two questions to one server
	timeServerRetry    = time.Minute      // after a failure
	maxKnownServers    = 100
)

// TimeServers asks the time servers that MPDs name by UTCTiming. It may be used concurrently.
type TimeServers struct {
	get  func(ctx context.Context, url string, limit int64) (body []byte, from reference.Origin, err error)
	head func(ctx context.Context, url string) (reference.Origin, error)

	mu    sync.Mutex
	known map[string]timeReading // by scheme and URL
}

// timeReading is the last answer of a time server.
type timeReading struct {
	time time.Time // zero: it did not answer
	at   time.Time // when, with its monotonic reading: the host's clock may be set
}

// NewTimeServers makes TimeServers that ask by get and head, which limit where requests may go.
func NewTimeServers(
	get func(ctx context.Context, url string, limit int64) (body []byte, from reference.Origin, err error),
	head func(ctx context.Context, url string) (reference.Origin, error),
) *TimeServers {
	return &TimeServers{get: get, head: head, known: map[string]timeReading{}}
}

var timingScheme = regexp.MustCompile(`^urn:mpeg:dash:utc:(direct|http-head|http-xsdate|http-iso):20\d\d$`)

// time returns the first time that the UTCTiming elements of an MPD give; false: none does. Their
// URLs are relative to base. It blocks for at most timeServerTimeout. A nil t asks no server.
func (t *TimeServers) time(ctx context.Context, timings []*mpd.DescriptorType, base *url.URL) (time.Time, bool) {
	ctx, cancel := context.WithTimeout(ctx, timeServerTimeout)
	defer cancel()
	asked := 0
	for _, timing := range timings {
		scheme := timingScheme.FindStringSubmatch(string(timing.SchemeIdUri))
		switch {
		case scheme == nil:
			continue
		case scheme[1] == "direct":
			if stated := parseTime(timing.Value); !stated.IsZero() {
				return stated, true
			}
			continue
		}
		for address := range strings.FieldsSeq(timing.Value) {
			u, ok := resolve(base, address)
			if asked++; t == nil || !ok || asked > maxTimeServers {
				continue
			}
			if now, ok := t.ask(ctx, scheme[1], u.String()); ok {
				return now, true
			}
		}
	}
	return time.Time{}, false
}

// ask returns the time of a server, which it asks only once in timeServerInterval.
func (t *TimeServers) ask(ctx context.Context, scheme, address string) (time.Time, bool) {
	key := scheme + " " + address
	t.mu.Lock()
	reading, ok := t.known[key]
	t.mu.Unlock()
	interval := timeServerInterval
	if reading.time.IsZero() {
		interval = timeServerRetry
	}
	if !ok || time.Since(reading.at) >= interval {
		reading = timeReading{t.request(ctx, scheme, address), time.Now()}
		t.mu.Lock()
		if len(t.known) >= maxKnownServers {
			clear(t.known)
		}
		t.known[key] = reading
		t.mu.Unlock()
	}
	return reading.time.Add(time.Since(reading.at)), !reading.time.IsZero()
}

// request asks a server for its time; zero: it did not answer with one.
func (t *TimeServers) request(ctx context.Context, scheme, address string) time.Time {
	if scheme == "http-head" {
		from, err := t.head(ctx, address)
		if err != nil {
			return time.Time{}
		}
		return from.Time
	}
	body, _, err := t.get(ctx, address, maxTimeBytes)
	if err != nil {
		return time.Time{}
	}
	return parseTime(string(body))
}
