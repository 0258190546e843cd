package incident

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// GoodFor limits a condition whose end the watch does not report: after so long without
// any sign of it, it counts as ended. A worker that starts without the state of the one
// before does not know the condition, and never reports its end.
const GoodFor = 3 * time.Minute

// Good says that the watch sees nothing of a condition.
type Good struct {
	Condition Name
	Since     time.Time // from then on
	At        time.Time // when the newest report was made that says so
}

func (Good) input() {}

// Unreported returns the conditions that last although the watch has seen nothing of
// them for GoodFor, by the present state of the lanes (section 16.3). It returns none
// while no report comes.
func (i *Incident) Unreported(now time.Time, lanes history.Current) (all []Good) {
	if now.Sub(lanes.Seen) > history.MaxGap {
		return nil
	}
	for _, c := range i.Conditions {
		since, good := goodSince(c.Name, lanes.Lanes)
		if !good && c.Name == NoMedia && i.ResolvedBy != "" {
			since, good = oneTrackSince(c, lanes.Lanes)
		}
		if in := (Good{c.Name, since, lanes.Seen}); good && in.ends(c) {
			all = append(all, in)
		}
	}
	return all
}

// ends reports whether a condition counts as ended.
func (in Good) ends(c Condition) bool {
	return c.Lasts() && in.At.Sub(in.since(c)) >= GoodFor
}

// since is from when on nothing was seen of the newest episode.
func (in Good) since(c Condition) time.Time {
	return instant.Latest(in.Since, c.LastStartedAt)
}

// goodSince returns from when on the lanes show nothing of a condition; good is false if
// they show it, or do not tell.
func goodSince(name Name, lanes map[history.Lane]history.Open) (since time.Time, good bool) {
	stream, video, audio := lanes[history.Stream], lanes[history.Video], lanes[history.Audio]
	switch name {
	case Error:
		return time.Time{}, false
	case Late:
		return stream.Since, stream.State == history.Live
	case Blind:
		return stream.Since, stream.State == history.Live || stream.State == history.Upcoming
	case NoMedia:
		// An outage may be of picture or sound alone. Then the other one is good.
		if video.Since.Before(audio.Since) {
			video.Since = audio.Since
		}
		return video.Since, video.State == history.OK && audio.State == history.OK
	}
	for _, d := range detector.Table {
		if d.Condition == name {
			lane := lanes[history.Lane(d.Track)]
			return lane.Since, lane.State == history.OK
		}
	}
	return time.Time{}, false
}

// oneTrackSince returns from when on one track is good again after an outage, while nothing is
// known of the other. Only a person can tell that from an outage of one track.
func oneTrackSince(c Condition, lanes map[history.Lane]history.Open) (since time.Time, good bool) {
	track, other := lanes[history.Video], lanes[history.Audio]
	if track.State == history.Unknown {
		track, other = other, track
	}
	return track.Since, track.State == history.OK && other.State == history.Unknown && track.Since.After(c.LastStartedAt)
}
