package officialstate

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Broadcast is what the API says of a video (videos.list with snippet, liveStreamingDetails and status), or of the broadcast of a place.
// Fields that an answer leaves out are zero.
type Broadcast struct {
	ID          string
	State       string    // snippet.liveBroadcastContent: none, upcoming, live, completed
	ActualStart time.Time // liveStreamingDetails.actualStartTime
	ActualEnd   time.Time // liveStreamingDetails.actualEndTime
	Upload      string    // status.uploadStatus

	// For lists of channels alone.
	BroadcastID    string // of a place, whose own ID is the other one
	Title          string
	ScheduledStart time.Time // liveStreamingDetails.scheduledStartTime
}

// Status returns the state of the stream; unknown: only the page can tell it, as for a video that never was
// a stream. The times are newer than State, which comes from an index that is late.
func (v Broadcast) Status() monitor.StreamStatus {
	switch {
	case slices.Contains([]string{"deleted", "failed", "rejected"}, v.Upload):
		return monitor.StreamUnknown
	case !v.ActualEnd.IsZero(), v.State == "completed":
		return monitor.StreamEnded
	case v.State == "live", v.State == "upcoming" && !v.ActualStart.IsZero():
		return monitor.StreamLive
	case v.State == "upcoming":
		return monitor.StreamUpcoming
	}
	return monitor.StreamUnknown
}

// Response is what came of one call.
type Response struct {
	Status     int         // HTTP; 0: no response came
	Broadcasts []Broadcast // of those ids that the API knows
	Reasons    []string    // error.errors[].reason, error.details[].reason and error.status of a refusal; none: it is not the API's
	Detail     string      // why there is no answer, one line without the key; empty: there is one
}

// States returns the state of each stream, by the broadcasts of the answer. One that the API does not have is private, removed or
// was never there: the answer does not tell which. A place that it does not have has no broadcast.
func (r Response) States(asked []Stream) map[monitor.ID]monitor.StreamStatus {
	states := make(map[monitor.ID]monitor.StreamStatus, len(asked))
	for _, s := range asked {
		states[s.MonitorID] = monitor.StreamUnknown
		if s.Place {
			states[s.MonitorID] = monitor.StreamUpcoming
		}
		for _, v := range r.Broadcasts {
			if v.ID == s.SourceID {
				states[s.MonitorID] = v.Status()
			}
		}
	}
	return states
}

// FailureKind says why the API gives no answer. It is stored and shown, so it never changes.
type FailureKind string

// The kinds of failure.
const (
	QuotaExceeded FailureKind = "quota_exceeded" // the project has no units any more until the next day
	KeyRefused    FailureKind = "key_refused"    // the key is wrong or restricted, or its project has not enabled the API
	LoginRejected FailureKind = "login_rejected" // the login of an owner has expired, was revoked, or lacks a permission (decision S24)
	RateLimited   FailureKind = "rate_limited"   // too many calls in a short time
	Unreachable   FailureKind = "unreachable"    // no connection, no answer in time, 5xx
	Malformed     FailureKind = "malformed"      // an answer that is none of the API
)

// Failure says why a call was not answered.
type Failure struct {
	Kind   FailureKind `json:"kind"`
	Detail string      `json:"detail"` // one line, without the key
}

// The reasons of refusals, by Google's errors pages of the APIs and of OAuth.
var (
	quotaReasons = []string{"quotaExceeded", "dailyLimitExceeded"}
	rateReasons  = []string{"rateLimitExceeded", "userRateLimitExceeded", "userRequestsExceedRateLimit", "RATE_LIMIT_EXCEEDED"}
	loginReasons = []string{
		"invalid_grant", "insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientLivePermissions", "liveStreamingNotEnabled",
	}
)

// Failure returns why the call was not answered; nil: it was.
func (r Response) Failure() *Failure {
	has := func(reasons []string) bool {
		return slices.ContainsFunc(r.Reasons, func(reason string) bool { return slices.Contains(reasons, reason) })
	}
	kind := Malformed
	switch {
	case r.Status/100 == 2 && r.Detail == "":
		return nil
	case has(quotaReasons):
		kind = QuotaExceeded
	case has(rateReasons), r.Status == 429:
		kind = RateLimited
	case has(loginReasons):
		kind = LoginRejected
	case r.Status == 0, r.Status >= 500:
		kind = Unreachable
	case len(r.Reasons) > 0:
		kind = KeyRefused
	}
	if r.Status != 0 {
		return &Failure{kind, fmt.Sprintf("HTTP %d: %s", r.Status, r.Detail)}
	}
	return &Failure{kind, r.Detail}
}
