package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The intervals and limits of the watch.
const (
	pollBeforeStart = 30 * time.Second // between questions before the scheduled start (7.5)
	pollAfterStart  = 10 * time.Second // between questions after the scheduled start (7.5)
	liveCheck       = 5 * time.Minute  // between questions while the stream is live and no playlist moves (7.6)
	movingLiveCheck = time.Hour        // between questions while a playlist moves (S17)
	readingSlack    = 15 * time.Second // after standstillLimit before a playlist that cannot be read counts as standing still (S17)
	probeInterval   = 60 * time.Second // between two probes (7.4)
	refreshInterval = 30 * time.Second // longest time between two readings of a playlist (5.4)
	minReadInterval = 1 * time.Second  // shortest time between two readings while a condition may reach its threshold (S2)

	outageLimit     = 60 * time.Second // without new media before an alert (6.6)
	stallLimit      = 60 * time.Second // without a new segment before a playlist counts as stalled (S6)
	blindLimit      = 5 * time.Minute  // without any observation before blindness may be alerted (S15)
	blindAnswerWait = 90 * time.Second // wait for an unanswered question after blindLimit (S20)

	lookAgain       = 10 * time.Second // without an answer before the media are looked at again, and until the next question about their outage (S6)
	endConfirm      = 10 * time.Second // between two answers that the stream has ended (S19)
	refusalConfirm  = 30 * time.Second // between two answers that the video is refused (S19)
	standstillLimit = 30 * time.Second // without a new segment before a playlist counts as standing still (S17, S19)
	claimInterval   = 5 * time.Second  // longest time between two checks while a claim is unconfirmed (S19)

	questionQuota = 10               // questions that a watched stream may cause at once (S7)
	quotaInterval = 72 * time.Second // in which one of them comes back, so that no hour has more than 60 (S7)

	shortLife         = 5 * time.Minute  // of a URL that counts as refused soon after it was given (S7)
	loggedRefusals    = 3                // of URLs in a row that were refused soon, from which on the log names the pattern (S7)
	renewAfter        = 5 * time.Hour    // age from which a regular answer replaces the manifest (S17); signed URLs last about 6 h
	renewBeforeExpiry = 15 * time.Minute // before the URLs of the manifest expire (S17)

	maxCopyDelay      = 60 * time.Second       // how far one server's copy of a playlist may be behind another's (S5)
	maxOlderReadings  = 2                      // in a row, of older copies, before the encoder counts as restarted (S5)
	clockSlack        = 30 * time.Second       // how much faster than the clock program time may run before it counts as reset
	boundaryTolerance = 100 * time.Millisecond // bad media that begin this soon after a segment's start count from that start
	audioLead         = 300 * time.Millisecond // longest time between the first sound and the first picture of a segment

	recoveryLooks    = 6 * time.Hour          // after an alert, for which each new segment is analysed (S18)
	publicationSlack = 100 * time.Millisecond // by which a segment may follow its predecessor sooner than its duration

	maxRenditionInterval = time.Minute // between two looks at other renditions, and at one that may be bad (S22)
	maxOtherRenditions   = 8           // that are looked at, the largest ones

	minSegmentRatio = 0.2 // shortest usual segment, as a part of the target duration (S10)
	maxSegmentRatio = 3   // longest usual segment, in target durations (S10)

	snapshotInterval = time.Minute      // between two snapshots of a stream to which nothing happens (S11)
	steadyLimit      = 10 * time.Second // without a new segment before a snapshot counts time that a successor must know (S11)

	maxNesting        = 1                // master playlists that the watch reads on the way to a feed
	maxAvoided        = 3                // renditions that the watch avoids at most in one outage
	maxDefects        = 8                // of playlists, that are logged in one watch
	bisectionLimit    = 20 * time.Second // longest bisection, from the analysis of the newest segment on
	maxBisectionSteps = 10               // analyses of one bisection; enough for the longest playlist
)

// RenditionPreference says which rendition the watch prefers (decision S8).
type RenditionPreference string

// The preferences of decision S8.
const (
	Smallest RenditionPreference = "smallest" // the smallest that has both tracks; the default
	Best     RenditionPreference = "best"     // the largest (section 5.1)
)

// Rules are the settings of one watch. Durations are positive.
type Rules struct {
	CheckInterval  time.Duration                   `json:"check_interval"`     // between two checks (6.2)
	Thresholds     map[detector.Name]time.Duration `json:"thresholds"`         // of each detector (6.3, 6.4); of an optional one only if it is switched on
	Settings       map[string]float64              `json:"settings,omitempty"` // the further settings of those detectors, by their fields
	References     []detector.Reference            `json:"references,omitempty"`
	ScheduledStart time.Time                       `json:"scheduled_start,omitzero"`
	ScheduledEnd   time.Time                       `json:"scheduled_end,omitzero"` // decision A10
	PausedUntil    time.Time                       `json:"paused_until,omitzero"`  // nobody looks before it (16.9)
	StartTolerance time.Duration                   `json:"start_tolerance"`        // 7.3
	Prefer         RenditionPreference             `json:"prefer"`

	AudioOnly bool `json:"audio_only,omitempty"` // no picture is expected (monitor.Source.AudioOnly)
	Lasting   bool `json:"lasting,omitempty"`    // not to be live is an outage until ScheduledEnd (monitor.Source.Lasting)

	// OfficialCheck is how often a stream that waits is asked about although the official API says that it waits
	// (monitor.Source.OfficialCheck); 0: it is believed.
	OfficialCheck time.Duration `json:"official_check,omitempty"`

	// Phase shortens the first CheckInterval, so that streams that begin to be watched at once are
	// not checked at once ever after; 0 or more, less than CheckInterval.
	Phase time.Duration `json:"phase,omitzero"`
}

// RulesOf returns the rules of a registration's configuration.
func RulesOf(c monitor.Config, p RenditionPreference) Rules {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	r := Rules{
		CheckInterval:  seconds(c.CheckIntervalSec),
		Thresholds:     map[detector.Name]time.Duration{},
		Settings:       map[string]float64{},
		StartTolerance: seconds(c.StartDelayToleranceSec),
		Prefer:         p,
	}
	for _, d := range detector.Table {
		if !c.Runs(d) {
			continue
		}
		r.Thresholds[d.Name] = seconds(c.ThresholdSec(d.Name))
		for _, s := range d.Settings {
			r.Settings[s.Field] = c.Value(s.Field)
		}
	}
	if c.ScheduledStartTime != nil {
		r.ScheduledStart = *c.ScheduledStartTime
	}
	if c.ScheduledEndTime != nil {
		r.ScheduledEnd = *c.ScheduledEndTime
	}
	return r
}

// bringQuestionForward asks about a stream that waits as early as new rules want it.
func (w *Watcher) bringQuestionForward() {
	if r := &w.state.Resolve; !w.state.monitoring() && r.Failures == 0 {
		r.NextAt = instant.Earliest(r.NextAt, w.rules.nextPoll(w.now, w.state.Schedule.DelayAlerted))
	}
}

// endSwitchedOff ends the condition of each detector that does not run, because nobody will see its end.
func (w *Watcher) endSwitchedOff() {
	for _, d := range detector.Table {
		if c := w.state.Conditions[d.Name]; c != nil && !w.rules.runs(d) {
			c.recover(d, c.BadUntil, &w.emitter)
			delete(w.state.Conditions, d.Name)
		}
	}
}

// runs reports whether a detector judges.
func (r Rules) runs(d detector.Detector) bool { return !d.Optional || r.Thresholds[d.Name] > 0 }

// expected returns the tracks that the stream has by its nature.
func (r Rules) expected() trackSet { return trackSet{Video: !r.AudioOnly, Audio: true} }

// whileWatched returns what an answer to a question that began at a time means for a stream that is watched. That a
// lasting stream is not there is an outage until its scheduled end, and its end from then on. That the own server of a stream
// denies access is an outage at any time: the credentials can be renewed.
func (r Rules) whileWatched(answer StreamState, began time.Time) StreamState {
	switch answer {
	case Denied:
		return Offline
	case Upcoming, Offline, ServerDown, Ended, NotALiveStream:
	default:
		return answer
	}
	switch {
	case !r.Lasting:
		return answer
	case r.ScheduledEnd.IsZero(), began.Before(r.ScheduledEnd):
		return Offline
	}
	return Ended
}

// whileWaiting returns what an answer to a question that began at a time means for a stream that is waited for. Until it is
// late, a lasting stream may show the former broadcast or be refused, and its server may be down.
func (r Rules) whileWaiting(answer StreamState, began time.Time) StreamState {
	if answer == ServerDown {
		return Upcoming
	}
	if (answer == Denied || answer == NotALiveStream) && r.Lasting && began.Before(r.ScheduledStart.Add(r.StartTolerance)) {
		return Upcoming
	}
	return answer
}

// setting returns a further setting of a detector.
func (r Rules) setting(field string) float64 { return r.Settings[field] }

// threshold returns how long a detector's condition lasts before its alert.
func (r Rules) threshold(d detector.Detector) time.Duration {
	if t := r.Thresholds[d.Name]; t > 0 {
		return t
	}
	return time.Duration(d.Threshold.Default) * time.Second // the rules were stored before the detector existed
}
