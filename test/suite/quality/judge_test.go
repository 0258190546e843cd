package quality_test

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// The largest error of an onset or an end. A segment's time begins with its first
// packet. If the encoder reorders pictures, that packet is sound from up to two
// frames before the first picture: 80 ms at 25 frames a second. One frame of AAC
// is 21 ms. A fade adds one frame and 2 % of its length: two steps of luma, by
// which the encoder's rounding may be wrong.
const (
	cutBound  = 40 * time.Millisecond
	fadeFrame = time.Second / corpus.Rate
	fadePart  = 0.02
)

// bound returns the largest error of an interval's onset and end.
func bound(s corpus.BadInterval) time.Duration {
	if s.Fade == 0 {
		return cutBound
	}
	return cutBound + fadeFrame + time.Duration(s.Fade*fadePart*float64(time.Second))
}

// alertInterval is an alert with its recovery.
type alertInterval struct {
	of        corpus.Condition
	from, to  time.Duration // in the clip
	recovered bool          // otherwise to is the end of the clip
}

// pairAlerts pairs alerts with their recoveries. It returns unexpected events as text.
func pairAlerts(events []received, length time.Duration) (all []alertInterval, wrong []string) {
	last := map[corpus.Condition]int{}
	for _, e := range events {
		of := conditionOf(e.Type)
		switch data := e.Data.(type) {
		case event.Started, event.Ended:
		case event.Alert:
			last[of] = len(all)
			all = append(all, alertInterval{of: of, from: data.StartedAt.Sub(epoch), to: length})
		case event.Recovered:
			n, alerted := last[of]
			if !alerted || all[n].recovered {
				wrong = append(wrong, fmt.Sprintf("%s without an alert", e.Type))
				continue
			}
			all[n].to, all[n].recovered = data.RecoveredAt.Sub(epoch), true
		default:
			wrong = append(wrong, fmt.Sprintf("%s at %.1f s", e.Type, e.at.Seconds()))
		}
	}
	return all, wrong
}

// judge compares one watch with the truth. It returns what is missed, false or inexact, as text. An
// alert belongs to the interval that it overlaps most; an interval has one alert.
func judge(clip corpus.Clip, w watched) (wrong []string) {
	alerts, wrong := pairAlerts(w.events, clip.Length())
	truth := clip.Item.Truth
	taken := make([]bool, len(truth))
	for _, a := range alerts {
		best, most := -1, time.Duration(0)
		for n, s := range truth {
			if overlap := min(a.to, clipTime(s.To)) - max(a.from, clipTime(s.From)); s.Of == a.of && overlap > most {
				best, most = n, overlap
			}
		}
		if best < 0 || !truth[best].Alert() || taken[best] {
			wrong = append(wrong, fmt.Sprintf("a false alarm: %s from %v to %v", a.of, a.from, a.to))
			continue
		}
		taken[best] = true
		wrong = append(wrong, inexact(truth[best], a, w.first, clip.Length(), w.interval+2*clip.Item.Segment)...)
	}
	for n, s := range truth {
		if s.Alert() && !taken[n] && clipTime(s.To)-max(clipTime(s.From), w.first) >= corpus.Threshold {
			wrong = append(wrong, fmt.Sprintf("%s from %v to %v s is missed", s.Of, s.From, s.To))
		}
	}
	return wrong
}

// inexact returns what is wrong with the times of an alert, as text. A watch knows nothing of the time
// before the first analysed segment. sampled is the largest error of a detector with a Rule.
func inexact(s corpus.BadInterval, a alertInterval, first, length, sampled time.Duration) (wrong []string) {
	from, to, limit := max(clipTime(s.From), first), clipTime(s.To), bound(s)
	if d, is := detector.Of(s.Of); is && d.Rule != nil {
		limit = sampled // its condition begins and ends with a sample
	}
	if off := a.from - from; off.Abs() > limit {
		wrong = append(wrong, fmt.Sprintf("the onset of %s from %v s is off by %v, at most %v is allowed", s.Of, s.From, off, limit))
	}
	if ends := to < length; ends != a.recovered {
		return append(wrong, fmt.Sprintf("%s from %v s has recovered: %t, it ends: %t", s.Of, s.From, a.recovered, ends))
	}
	if off := a.to - to; a.recovered && off.Abs() > limit {
		wrong = append(wrong, fmt.Sprintf("the end of %s at %v s is off by %v, at most %v is allowed", s.Of, s.To, off, limit))
	}
	return wrong
}

func clipTime(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// conditionOf is the condition of the detector that has this event.
func conditionOf(t event.Type) corpus.Condition {
	for _, d := range detector.Table {
		if string(t) == d.Alert || string(t) == d.Recovered {
			return d.Condition
		}
	}
	return ""
}

// instantOf returns the instant in the media that an event is about; zero: it is about none.
func instantOf(e event.Event) time.Time {
	switch data := e.Data.(type) {
	case event.Alert:
		return data.StartedAt
	case event.Recovered:
		return data.RecoveredAt
	}
	return time.Time{}
}
