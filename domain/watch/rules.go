package watch

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The intervals and limits of the watch.
const (
	pollBeforeStart = 30 * time.Second // between questions before the scheduled start (7.5)
	pollAfterStart  = 10 * time.Second // between questions after it (7.5)
	liveCheck       = 5 * time.Minute  // between questions while the stream is live (7.6)
	probeInterval   = 60 * time.Second // between oEmbed questions (7.4)
	refreshInterval = 30 * time.Second // a playlist is read at least this often (5.4)
	eagerInterval   = 1 * time.Second  // between checks while a threshold may have been crossed (S2)

	outageLimit   = 60 * time.Second // without new media before an alert (6.6)
	stallLimit    = 60 * time.Second // without a new segment before a playlist counts as stalled (S6)
	blindLimit    = 5 * time.Minute  // without any observation before an alert (S15)
	blindPatience = 90 * time.Second // beyond blindLimit, while a question is under way (S20)

	endConfirm      = 10 * time.Second // between two claims that the stream has ended (S19)
	refusalConfirm  = 30 * time.Second // between two claims that the video is refused (S19)
	standstillLimit = 30 * time.Second // without a new segment before a claim is believed (S19)
	claimInterval   = 5 * time.Second  // between checks, at most, while a claim is unconfirmed (S19)

	playlistRenewPause = 10 * time.Second // between two renewals because a playlist is refused (S7)
	segmentRenewPause  = 60 * time.Second // between two renewals because a segment is refused (S7)
	renewAfter         = 4 * time.Hour    // age at which a manifest is replaced when another is found; signed URLs last about 6 h

	copyLag    = 30 * time.Second       // by which one server's copy of a playlist may be behind another's
	clockSlack = 30 * time.Second       // by which program time may outrun the clock before it counts as reset
	edge       = 100 * time.Millisecond // at a segment's start; an interval that begins within it continues the one before
	audioLead  = 300 * time.Millisecond // by which the sound of a segment may begin before its picture

	minSegmentRatio = 0.2 // shortest segment, of the target duration (S10)
	maxSegmentRatio = 3   // longest segment, of the target duration (S10)

	maxNesting        = 1 // lists of renditions named by a list of renditions
	maxAvoided        = 3 // renditions given up for others in one outage
	bisectionLimit    = 20 * time.Second
	maxBisectionSteps = 10 // enough to bisect the longest playlist
)

// RenditionPreference says which rendition to watch (decision S8).
type RenditionPreference string

// The preferences of decision S8.
const (
	Smallest RenditionPreference = "smallest" // the smallest that has both tracks; the default
	Best     RenditionPreference = "best"     // the largest (section 5.1)
)

// Rules say what a stream is watched for. Durations are positive.
type Rules struct {
	Interval       time.Duration                   `json:"interval"`   // between two checks (6.2)
	Thresholds     map[detector.Name]time.Duration `json:"thresholds"` // of each detector (6.3, 6.4)
	ScheduledStart time.Time                       `json:"scheduled_start,omitzero"`
	ScheduledEnd   time.Time                       `json:"scheduled_end,omitzero"` // decision A10
	StartTolerance time.Duration                   `json:"start_tolerance"`        // 7.3
	Prefer         RenditionPreference             `json:"prefer"`
}

// RulesOf returns the rules of a registration's configuration.
func RulesOf(c monitor.Config, p RenditionPreference) Rules {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	r := Rules{
		Interval:       seconds(c.CheckIntervalSec),
		Thresholds:     map[detector.Name]time.Duration{},
		StartTolerance: seconds(c.StartDelayToleranceSec),
		Prefer:         p,
	}
	for _, d := range detector.Table {
		r.Thresholds[d.Name] = seconds(c.ThresholdSec(d.Name))
	}
	if c.ScheduledStartTime != nil {
		r.ScheduledStart = *c.ScheduledStartTime
	}
	if c.ScheduledEndTime != nil {
		r.ScheduledEnd = *c.ScheduledEndTime
	}
	return r
}

// UnmarshalJSON reads rules, also those of a recording that has one field for
// each of the two thresholds.
func (r *Rules) UnmarshalJSON(b []byte) error {
	type plain Rules
	var read struct {
		plain
		Blackout time.Duration `json:"blackout_threshold"`
		Silence  time.Duration `json:"silence_threshold"`
	}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	*r = Rules(read.plain)
	if r.Thresholds == nil {
		r.Thresholds = map[detector.Name]time.Duration{detector.Blackout: read.Blackout, detector.Silence: read.Silence}
	}
	return nil
}

// threshold is how long a detector's condition lasts before its alert.
func (r Rules) threshold(d detector.Detector) time.Duration {
	if t := r.Thresholds[d.Name]; t > 0 {
		return t
	}
	return time.Duration(d.Threshold.Default) * time.Second // the rules are older than the detector
}
