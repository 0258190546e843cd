package watch

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The intervals of the specification.
const (
	refreshInterval  = 30 * time.Second       // a playlist is read at least this often (5.4)
	pollBeforeStart  = 30 * time.Second       // 7.5
	pollAfterStart   = 10 * time.Second       // 7.5, once the scheduled time has passed
	liveCheck        = 5 * time.Minute        // 7.6, periodic is_live check
	endConfirm       = 10 * time.Second       // between two claims that the stream is over (decision S19)
	refusalConfirm   = 30 * time.Second       // between two claims that the video is refused (decision S19)
	standstillLimit  = 30 * time.Second       // a claim is believed when the playlist has not moved for as long (decision S19)
	claimInterval    = 5 * time.Second        // between checks, at most, while a claim is not confirmed
	outageLimit      = 60 * time.Second       // 6.6
	stallLimit       = 60 * time.Second       // decision S6
	copyAge          = 30 * time.Second       // by which one copy of a playlist may lag behind another
	blindLimit       = 5 * time.Minute        // decision S15
	blindPatience    = 90 * time.Second       // beyond it, for a last question to come back
	eagerInterval    = 1 * time.Second        // between looks while a threshold may have been crossed (S2)
	probeInterval    = 60 * time.Second       // between oEmbed questions (7.4)
	shortestSegment  = 0.2                    // of the target duration (S10)
	longestSegment   = 3                      // of the target duration (S10)
	playlistPause    = 10 * time.Second       // between two renewals for a playlist's sake
	renewPause       = 60 * time.Second       // between two renewals for a segment's sake, and two readings because of one
	renewAfter       = 4 * time.Hour          // a manifest this old is replaced when a new one is at hand; signed URLs last about 6 h
	clockSlack       = 30 * time.Second       // by which program time may outrun the clock before it counts as reset
	edge             = 100 * time.Millisecond // by which the bad may be late in a segment and still go on from the one before
	soundAhead       = 300 * time.Millisecond // by which the sound of a segment may begin before its picture
	maxNesting       = 1                      // lists of renditions named by a list of renditions
	maxAvoided       = 3                      // renditions given up in favour of others in one outage
	traceLimit       = 20 * time.Second       // a trace begins no further analysis after it
	maxTraceAnalyses = 10                     // bisecting the largest window takes no more
)

// Preference says which rendition to watch (decision S8).
type RenditionPreference string

// The preferences of decision S8.
const (
	Smallest RenditionPreference = "smallest" // the smallest that has both tracks; the default
	Best     RenditionPreference = "best"     // the specification's literal choice (5.1)
)

// Rules is what one stream is watched for. Durations are positive.
type Rules struct {
	Interval       time.Duration                   `json:"interval"`   // between checks (6.2)
	Thresholds     map[detector.Name]time.Duration `json:"thresholds"` // of each detector (6.3, 6.4)
	ScheduledStart time.Time                       `json:"scheduled_start,omitzero"`
	ScheduledEnd   time.Time                       `json:"scheduled_end,omitzero"`
	StartTolerance time.Duration                   `json:"start_tolerance"` // 7.3
	Prefer         RenditionPreference             `json:"prefer"`
}

// RulesOf translates a registration's configuration.
func RulesOf(c monitor.Config, p RenditionPreference) Rules {
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

// UnmarshalJSON reads rules, also those of a recording from before thresholds
// were kept by detector.
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

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// whole is a duration in whole seconds, as events carry it; never more than
// has passed.
func whole(d time.Duration) int64 { return int64(d / time.Second) }
