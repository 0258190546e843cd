package capture

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Tracker plans the captures of one stream. The zero value is ready for use. It is not
// safe for concurrent use.
type Tracker struct {
	stream     stream
	episodes   []*episode
	outages    []*outage
	recoveries []recovery // whose capture waits for newer media
}

// episode is the capture of one condition from its onset on.
type episode struct {
	condition   trouble.Name
	onset       time.Time
	instant     time.Time // that the media are collected around; the onset, if it is known on the media timeline
	collectedTo time.Time // media end at the last job; zero: none yet
	alert       string    // event ID; "": not alerted
	due         time.Time // when the condition had lasted as long as its threshold
	alertedAt   time.Time // by the clock
	complete    bool      // nothing more is captured of the alert

	rendition detector.Rendition // that the condition names, if it is of one
}

// Input holds the results of one step of the watcher.
type Input struct {
	Observation watch.Observation
	Media       []watch.Media
	Open        []watch.OpenCondition
	Events      []event.Event // with their IDs
	Signals     []monitor.Signal
	Others      []watch.OtherRendition
	SilenceDB   float64 // the present setting, in dBFS
}

// Step takes in a step of the watcher that ended at now, and returns the jobs to do, in
// their order.
func (t *Tracker) Step(now time.Time, in Input) (jobs []Job) {
	t.stream.learn(in)
	for _, e := range in.Events {
		jobs = append(jobs, t.handleEvent(now, e)...)
	}
	for _, s := range in.Signals {
		t.handleSignal(s)
	}
	jobs = append(jobs, t.recoverOutages()...)
	jobs = append(jobs, t.captureRecoveries(now)...)
	jobs = append(jobs, t.complete(now)...)
	return append(jobs, t.follow(in.Open)...)
}

// handleEvent plans what an event asks for.
func (t *Tracker) handleEvent(now time.Time, e event.Event) (jobs []Job) {
	switch data := e.Data.(type) {
	case event.Alert:
		d := detectorOf(e.Type)
		p := t.episode(d.Condition, data.StartedAt)
		p.alert, p.alertedAt, p.due = e.ID, now, data.StartedAt.Add(time.Duration(data.ThresholdSec)*time.Second)
		return []Job{t.job(p, Report)}
	case event.Outage:
		return t.beginOutage(trouble.NoMedia, e.ID, data.StartedAt)
	case event.Recovered:
		d := detectorOf(e.Type)
		r := recovery{condition: d.Condition, event: e.ID, instant: data.RecoveredAt, reportedAt: now}
		for _, p := range t.episodes {
			if p.condition != d.Condition {
				continue
			}
			r.rendition = p.rendition
			if !p.complete {
				jobs = append(jobs, t.job(p, Complete))
			}
		}
		t.forget(d.Condition)
		t.recoveries = append(t.recoveries, r)
	case event.Ended, event.MonitorFailure:
		if e.IsBlindness() {
			return t.beginOutage(trouble.Blind, e.ID, e.At)
		}
		t.outages = nil
		for _, p := range t.episodes {
			if p.alert != "" && !p.complete {
				p.complete = true
				jobs = append(jobs, t.job(p, Complete))
			}
		}
	}
	return jobs
}

// Pause ends all captures, because nobody looks at the stream any more (section 16.9). Captures of alerts are made of the media
// that are there, and nothing more is fetched for them. The others leave no trace.
func (t *Tracker) Pause() (jobs []Job) {
	for _, p := range t.episodes {
		step := Discard
		if p.alert != "" {
			step = Complete
		}
		if p.complete || p.collectedTo.IsZero() {
			continue
		}
		job := t.job(p, step)
		job.Fetch = false
		jobs = append(jobs, job)
	}
	*t = Tracker{}
	return jobs
}

// follow begins and ends episodes as the conditions do, and collects their media.
func (t *Tracker) follow(open []watch.OpenCondition) (jobs []Job) {
	for _, p := range slices.Clone(t.episodes) {
		lasts := slices.ContainsFunc(open, func(c watch.OpenCondition) bool { return c.Detector.Condition == p.condition })
		if !lasts && p.alert == "" && !p.complete {
			if !p.collectedTo.IsZero() {
				jobs = append(jobs, Job{Key: key(p.condition, evidence.AlertPhase, p.onset), Step: Discard, Condition: p.condition, Phase: evidence.AlertPhase})
			}
			t.forget(p.condition)
		}
	}
	for _, c := range open {
		known := slices.ContainsFunc(t.episodes, func(p *episode) bool { return p.condition == c.Detector.Condition })
		p := t.episode(c.Detector.Condition, c.Onset)
		if c.Alerted && !known {
			p.complete = true // an earlier worker has alerted it
		}
		end := t.stream.mediaEnd()
		begins := p.collectedTo.IsZero() && c.BadUntil.Sub(c.Onset) >= suspectAfter
		goesOn := !p.collectedTo.IsZero() && p.collectedTo.Before(p.instant.Add(After)) && end.Sub(p.collectedTo) >= collectEvery
		if !p.complete && (begins || goesOn) && len(t.stream.media) > 0 {
			jobs = append(jobs, t.job(p, Collect))
		}
	}
	return jobs
}

// complete ends the captures whose media are all there, or will not come.
func (t *Tracker) complete(now time.Time) (jobs []Job) {
	for _, p := range t.episodes {
		if p.alert == "" || p.complete {
			continue
		}
		if !t.stream.mediaEnd().Before(p.instant.Add(After)) || now.Sub(p.alertedAt) >= completeWait {
			p.complete = true
			jobs = append(jobs, t.job(p, Complete))
		}
	}
	return jobs
}

// episode returns the episode of a condition. It begins the first one, and a
// new one if the condition has ended and begun again without an alert.
func (t *Tracker) episode(condition trouble.Name, onset time.Time) *episode {
	for _, p := range t.episodes {
		if p.condition != condition {
			continue
		}
		if p.alert == "" && !p.complete && !p.onset.Equal(onset) {
			*p = t.stream.newEpisode(condition, onset)
		}
		return p
	}
	p := t.stream.newEpisode(condition, onset)
	t.episodes = append(t.episodes, &p)
	return &p
}

// newEpisode returns an episode that begins now. The media of a rendition's onset may be gone: two looks had to agree.
// So the newest ones are collected, beside which it was looked at.
func (s *stream) newEpisode(condition trouble.Name, onset time.Time) episode {
	p := episode{condition: condition, onset: onset, instant: onset}
	if d, _ := detector.Of(condition); d.JudgesRenditions() {
		p.rendition = s.bad
		if newest := s.newestStart(); !newest.IsZero() {
			p.instant = newest
		}
	}
	return p
}

func (t *Tracker) forget(condition trouble.Name) {
	t.episodes = slices.DeleteFunc(t.episodes, func(p *episode) bool { return p.condition == condition })
}

// job returns a step of an episode, with the media that are known now.
func (t *Tracker) job(p *episode, s Step) Job {
	p.collectedTo = t.stream.mediaEnd()
	return t.stream.withRendition(t.stream.withMedia(Job{
		Key: key(p.condition, evidence.AlertPhase, p.onset), Step: s, Condition: p.condition, Phase: evidence.AlertPhase,
		EventID: p.alert, Instant: p.instant, Fetch: p.alert != "",
		LevelsTo: p.due.Add(After),
	}), p.rendition)
}

func key(condition trouble.Name, phase evidence.Phase, at time.Time) string {
	return string(condition) + " " + string(phase) + " " + at.UTC().Format(time.RFC3339Nano)
}

// detectorOf returns the detector of an alert or recovery.
func detectorOf(t event.Type) detector.Detector {
	for _, d := range detector.Table {
		if d.Alert == string(t) || d.Recovered == string(t) {
			return d
		}
	}
	return detector.Detector{}
}
