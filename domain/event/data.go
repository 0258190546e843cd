package event

import (
	"math"
	"time"
)

// Data is the data object of one event type. Only the types of this file implement
// it. Durations are whole seconds, as the specification requires. Times are exact.
type Data interface {
	// types returns the event types that may carry this data.
	types() []Type

	// durations returns its durations in seconds.
	durations() []int64
}

// SegmentInfo names the segment that decided an alert (section 4.2).
type SegmentInfo struct {
	Sequence uint64  `json:"sequence"` // media sequence number of the segment
	Duration float64 `json:"duration"` // seconds
}

// Started is the data of stream.started (decision W7).
type Started struct {
	StartedAt          time.Time  `json:"started_at"`  // when the broadcast went live, as far as is known
	DetectedAt         time.Time  `json:"detected_at"` // when the watcher first saw it live
	ScheduledStartTime *time.Time `json:"scheduled_start_time,omitempty"`
	DelaySec           *int64     `json:"delay_sec,omitempty"` // whole seconds from scheduled_start_time to started_at, ≥ 0
}

// Reasons of Ended (decision W7).
const (
	EndedByEndlist = "endlist"  // the playlist said EXT-X-ENDLIST
	EndedByNotLive = "not_live" // is_live=false
)

// Ended is the data of stream.ended (decision W7).
type Ended struct {
	EndedAt     time.Time `json:"ended_at"`
	Reason      string    `json:"reason"`       // endlist, not_live
	DurationSec int64     `json:"duration_sec"` // since the stream started; 0 if it was never seen live
}

// Delayed is the data of stream.delayed (section 4.3).
type Delayed struct {
	ScheduledStartTime time.Time `json:"scheduled_start_time"`
	DelaySec           int64     `json:"delay_sec"`
	ToleranceSec       int64     `json:"tolerance_sec"`
}

// Alert is the data of alert.blackout, alert.silence and the alert of any other
// detector (section 4.3).
type Alert struct {
	DurationSec  int64       `json:"duration_sec"` // wall seconds since started_at (decision S1)
	StartedAt    time.Time   `json:"started_at"`   // first bad instant
	ThresholdSec int64       `json:"threshold_sec"`
	SegmentInfo  SegmentInfo `json:"segment_info"`

	// Measured has the numbers that decided, by their names, of the last segment. Blackout and silence have none.
	Measured map[string]float64 `json:"measured,omitempty"`

	// Reference is the name of the uploaded picture that the last segment showed; empty: the detector looks for none.
	Reference string `json:"reference,omitempty"`
}

// Recovered is the data of alert.blackout_recovered, alert.silence_recovered and
// the recovery of any other detector (section 4.3).
type Recovered struct {
	TotalDurationSec int64     `json:"total_duration_sec"`
	StartedAt        time.Time `json:"started_at"`
	RecoveredAt      time.Time `json:"recovered_at"` // first good instant
}

// The values of Outage.Failure (decision W7).
const (
	FailedManifest = "manifest" // the playlist cannot be read
	FailedSegment  = "segment"  // the newest segment cannot be fetched or decoded
	FailedStalled  = "stalled"  // the playlist has not moved for 60 s (decision S6)
	FailedNoData   = "no_data"  // the encoder sends nothing, as the source tells the owner (decision S24)
	FailedDenied   = "denied"   // the stream's own server refuses the credentials (section 5.7)
	FailedToken    = "token"    // the same with a token that has expired (section 5.7)
)

// Outage is the data of alert.segment_error (sections 6.6, 7.6, decision W7).
type Outage struct {
	StartedAt    time.Time `json:"started_at"`
	DurationSec  int64     `json:"duration_sec"`
	ThresholdSec int64     `json:"threshold_sec"` // 60
	Failure      string    `json:"failure"`       // manifest, segment, stalled, no_data, denied, token
	LastError    string    `json:"last_error"`
}

// Reasons of MonitorFailure. The watcher gives the first nine, most of them for a
// state of the video. The gateway gives the others.
const (
	ReasonBlind              = "blind"                   // nothing could be learned for 5 minutes (decision S15)
	ReasonVideoUnavailable   = "video_unavailable"       // removed (section 7.2)
	ReasonVideoPrivate       = "video_private"           // private (section 7.2)
	ReasonRegionLocked       = "region_locked"           // not viewable from where the watchdog runs
	ReasonAgeRestricted      = "age_restricted"          // needs a signed-in adult
	ReasonMembersOnly        = "members_only"            // needs a membership
	ReasonNotALiveStream     = "not_a_live_stream"       // an ordinary video
	ReasonAccessDenied       = "access_denied"           // the stream's own server refuses the credentials (section 5.7)
	ReasonReservationExpired = "reservation_expired"     // never went live (decision A10)
	ReasonWorkerLost         = "worker_lost"             // the worker ended by itself, or fell silent (decision O3)
	ReasonLaunchFailed       = "launch_failed"           // no worker could be started
	ReasonMismatch           = "reconciliation_mismatch" // section 10.4
	ReasonReconcileTimeout   = "reconciliation_timeout"  // section 10.4
	ReasonCallbackFailed     = "callback_failed"         // decision W4; never sent, only recorded
)

// MonitorFailure is the data of monitor.error (section 10.4, decisions W7, S15).
type MonitorFailure struct {
	Reason       string `json:"reason"`
	ErrorDetails string `json:"error_details"`
	Terminal     bool   `json:"terminal"` // false for the reasons blind and reconciliation_timeout: the monitor goes on

	ReconciliationAction string         `json:"reconciliation_action,omitempty"`
	PreviousStatus       string         `json:"previous_status,omitempty"`
	ObservedState        *ObservedState `json:"observed_state,omitempty"`
}

// ObservedState is the state that a reconciliation found (section 10.4).
type ObservedState struct {
	PodExists bool   `json:"pod_exists"`
	DBStatus  string `json:"db_status"`
}

func (Started) types() []Type        { return []Type{StreamStarted} }
func (Ended) types() []Type          { return []Type{StreamEnded} }
func (Delayed) types() []Type        { return []Type{StreamDelayed} }
func (Alert) types() []Type          { return alerts() }
func (Recovered) types() []Type      { return recoveries() }
func (Outage) types() []Type         { return []Type{SegmentError} }
func (MonitorFailure) types() []Type { return []Type{MonitorError} }

func (d Started) durations() []int64 {
	if d.DelaySec == nil {
		return nil
	}
	return []int64{*d.DelaySec}
}

func (d Ended) durations() []int64   { return []int64{d.DurationSec} }
func (d Delayed) durations() []int64 { return []int64{d.DelaySec, d.ToleranceSec} }
func (d Alert) durations() []int64 {
	segment := int64(math.Floor(max(-1, min(d.SegmentInfo.Duration, 2*maxDurationSec)))) // a fraction below 0 becomes -1
	return []int64{d.DurationSec, d.ThresholdSec, segment}
}
func (d Recovered) durations() []int64    { return []int64{d.TotalDurationSec} }
func (d Outage) durations() []int64       { return []int64{d.DurationSec, d.ThresholdSec} }
func (MonitorFailure) durations() []int64 { return nil }
