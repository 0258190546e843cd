package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Lane is a place where the tasks of a stream are done, one at a time. With three
// lanes, neither a yt-dlp that hangs nor another rendition ever delays the media (decision S16).
type Lane int

// The lanes, and the timer, whose tasks take no time.
const (
	LaneResolve Lane = iota // TaskResolve, TaskProbe
	LaneMedia               // TaskPlaylist, TaskSegment
	LaneOthers              // TaskRendition
	LaneTimer               // TaskWake
)

// TaskKind says what a Task asks for.
type TaskKind string

// The kinds of task, each with the observation that answers it.
const (
	TaskResolve  TaskKind = "resolve"  // the stream's state and its manifest → Resolution
	TaskProbe    TaskKind = "probe"    // whether the stream exists, by a small question (section 7.4) → ProbeResult
	TaskPlaylist TaskKind = "playlist" // the playlist at URL → Playlist
	TaskSegment  TaskKind = "segment"  // the analysis of Segment → Analysis
	TaskWake     TaskKind = "wake"     // nothing; time passes → Tick

	TaskRendition TaskKind = "rendition" // the playlist at URL; of a media playlist also key frames of the newest segment → RenditionLook

	// The kinds of observations that no task asks for.
	clockStep     TaskKind = "clock_step"     // ClockStep
	rulesChanged  TaskKind = "rules_changed"  // RulesChanged
	officialState TaskKind = "official_state" // OfficialState
	ingestState   TaskKind = "ingest_state"   // IngestState
)

// Lane returns where a task of this kind is done.
func (k TaskKind) Lane() Lane {
	switch k {
	case TaskResolve, TaskProbe:
		return LaneResolve
	case TaskPlaylist, TaskSegment:
		return LaneMedia
	case TaskRendition:
		return LaneOthers
	}
	return LaneTimer
}

// Task is something to find out. A task whose time has passed is due now.
type Task struct {
	Kind          TaskKind
	At            time.Time      // not before
	URL           string         // TaskPlaylist, TaskRendition: to be read
	Egress        string         // the address through which to ask or read; empty: there is no choice, or none was made
	Header        *RequestHeader // TaskPlaylist, TaskRendition: that the requests carry
	AvoidedEgress string         // TaskResolve: the address through which not to ask, if there is another
	Segment       Segment        // TaskSegment: to be analysed
	Urgency       Urgency        // TaskResolve: of its answer
	Look          Look           // TaskSegment: how closely (decision S18), and what to measure; TaskRendition: its Text
}

// planner decides which task is due when. It reads the state and changes nothing.
type planner struct {
	rules Rules
	state *state
	now   time.Time
}

// tasks returns the next task of each lane and of the timer.
func (p planner) tasks() []Task {
	tasks := []Task{p.resolveTask()}
	if t, ok := p.mediaTask(); ok {
		tasks = append(tasks, t)
	}
	other, ok := p.renditionTask()
	if t, reads := p.captionTask(); reads && (!ok || t.At.Before(other.At)) {
		other, ok = t, true
	}
	if ok {
		tasks = append(tasks, other)
	}
	if at := p.wakeAt(); !at.IsZero() {
		tasks = append(tasks, Task{Kind: TaskWake, At: at})
	}
	return tasks
}

// resolveTask returns the task of the resolve lane. The question is due by its
// cadence and when the server refuses the manifest's URLs. It is due once more when
// a failure shows that an outage has reached its limit, when blindness reaches its own,
// when the reservation expires, and when the official API says something else
// (officialMoments). A feed without a URL makes it due when the feed's backoff ends. While
// the stream is watched, no question is due before the quota permits it (decision S7).
func (p planner) resolveTask() Task {
	r := p.state.Resolve
	if r.ProbeDue {
		return Task{Kind: TaskProbe, At: p.now, Egress: p.state.Manifest.Egress}
	}
	at := p.nextQuestionAt()
	moments := append(p.officialMoments(), p.state.Blind.limitAt(), p.expiresAt())
	for _, f := range p.state.Feeds {
		at = instant.Earliest(at, f.Outage.RenewAt)
		moments = append(moments, f.Outage.askAt(), f.searchAt())
	}
	for _, moment := range moments {
		if r.LastBegan.Before(moment) {
			at = instant.Earliest(at, moment)
		}
	}
	if quota := r.quotaAt(); p.state.monitoring() && at.Before(quota) {
		at = quota
	}
	t := Task{Kind: TaskResolve, At: at, Egress: p.state.Manifest.Egress, Urgency: p.resolveUrgency(at)}
	if !p.state.monitoring() {
		t.AvoidedEgress = r.Claim.Egress
	}
	return t
}

// nextQuestionAt returns when the regular question is due. A moving playlist answers it
// until movingLiveCheck after the last question, or until the manifest must be renewed
// (decision S17). It does not answer for a claim, nor for a question that is being
// retried. In an alerted outage an answer may have a better manifest. The official API
// answers it for longer (decision S23).
func (p planner) nextQuestionAt() time.Time {
	r := &p.state.Resolve
	retrying := r.Failures > 0 && r.Failures <= questionRetries
	if r.Claim.open() || retrying || p.state.Feeds.outageAlerted() || p.state.Blind.Refused {
		return r.NextAt
	}
	official := p.officialUntil()
	if !p.state.monitoring() && !official.IsZero() {
		return instant.Latest(r.NextAt, official)
	}
	answeredUntil := instant.Latest(r.LastBegan.Add(movingLiveCheck), official)
	for _, end := range []time.Time{p.state.Feeds.movingUntil(), p.state.Manifest.renewAt()} {
		if end.Before(answeredUntil) {
			answeredUntil = end
		}
	}
	return instant.Latest(answeredUntil, r.NextAt)
}

// mediaTask returns the task of the media lane. If two feeds have a due task, the
// feed whose playlist was read longer ago is first. So a slow feed never starves
// the other one.
func (p planner) mediaTask() (next Task, ok bool) {
	if url := p.state.Manifest.PendingURL; url != "" {
		return Task{Kind: TaskPlaylist, At: p.now, URL: url, Egress: p.state.Manifest.Egress, Header: p.state.Manifest.Header}, true
	}
	var chosen *mediaFeed
	for _, f := range p.state.Feeds {
		if f.URL == "" {
			continue
		}
		t := Task{Kind: TaskPlaylist, At: p.nextReadAt(f), URL: f.URL, Egress: f.Egress, Header: f.Header}
		if f.pending != nil {
			t = Task{Kind: TaskSegment, At: p.now, Segment: *f.pending, Look: f.look}
		}
		first := !ok || t.At.Before(next.At)
		if ok && !t.At.After(p.now) && !next.At.After(p.now) {
			first = f.LastReadAt.Before(chosen.LastReadAt)
		}
		if first {
			next, chosen, ok = t, f, true
		}
	}
	return next, ok
}

// wakeAt returns the earliest moment at which handlePassedTime has something to
// do; zero: never.
func (p planner) wakeAt() time.Time {
	at := p.state.Blind.alertAt()
	return instant.Earliest(at, p.givenUpAt())
}

// expiresAt returns when the watch gives up a stream that has never been live;
// zero: never. The resolve lane asks once more at that time. If no answer comes
// within blindLimit, the watch ends anyway (decision A10).
func (p planner) expiresAt() time.Time {
	if p.state.monitoring() || p.rules.ScheduledEnd.IsZero() {
		return time.Time{}
	}
	return p.rules.ScheduledEnd.Add(p.rules.StartTolerance)
}
