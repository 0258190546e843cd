package egress

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Failure says why a question had no answer, as far as the address may be the cause.
type Failure string

// The kinds of failure.
const (
	Blocked     Failure = "blocked"      // the source refuses the address: bot check, captcha, 403
	RateLimited Failure = "rate_limited" // the source has had too many questions from it: 429
	Network     Failure = "network"      // no way to the source: proxy, DNS, TLS, timeout, 5xx
)

// failureOf classifies the state of a stream that is not known; empty: the address is not to
// blame.
func failureOf(state watch.StreamState) Failure {
	switch state {
	case watch.Blocked:
		return Blocked
	case watch.RateLimited:
		return RateLimited
	case watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable:
		return Network
	}
	return ""
}

// Status is the state of an address for the streams of one source, for people.
type Status struct {
	Name            string             `json:"name"`
	Source          monitor.SourceName `json:"source"`
	RestSec         int64              `json:"rest_sec"` // until it is used again; 0: it does not rest
	Failures        int                `json:"failures"` // in a row
	LastFailure     *Failure           `json:"last_failure"`
	Streams         int                `json:"streams"`           // that use it
	Questions       int                `json:"questions"`         // in the last hour
	Budget          int                `json:"budget"`            // questions per hour; 0: no limit
	PollIntervalSec int64              `json:"poll_interval_sec"` // of a waiting stream, while the budget stretches it; else 0
}

// NoticeKind says what has changed.
type NoticeKind int

// The kinds of notice.
const (
	Rests         NoticeKind = iota // an address rests from now on
	UsedAgain                       // its rest is over
	AllFail                         // every address fails; none of them rests for that
	Stretched                       // the budget stretches the polls of the address from now on
	StretchedOver                   // it does no longer
)

// Notice is a change that people should know.
type Notice struct {
	Kind     NoticeKind
	Address  string
	Failure  Failure       // Rests, AllFail: the last one
	Left     time.Duration // Rests: until Address is used again
	Interval time.Duration // Stretched: between two polls of a stream
}
