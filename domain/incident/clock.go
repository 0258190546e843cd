package incident

import "time"

// longestWay limits how long a report is under way. By more than that its sender's clock is behind.
const longestWay = time.Minute

// AdjustClock moves inputs from the clock of their sender to the one of now, if the first is
// more than a minute behind. sentAt is when they were sent, by the sender's clock; zero: both
// are the same. A clock that is ahead needs nothing: a Tracker takes later times for now.
func AdjustClock(all []Found, sentAt, now time.Time) {
	behind := now.Sub(sentAt)
	if sentAt.IsZero() || behind <= longestWay {
		return
	}
	onset := func(of Name, at time.Time) time.Time {
		if of == Late || at.IsZero() { // a planned start is by no clock of the sender
			return at
		}
		return at.Add(behind)
	}
	for i := range all {
		switch in := all[i].Input.(type) {
		case Began:
			in.StartedAt, in.At = onset(in.Condition, in.StartedAt), in.At.Add(behind)
			all[i].Input = in
		case Ended:
			in.StartedAt, in.EndedAt = onset(in.Condition, in.StartedAt), in.EndedAt.Add(behind)
			all[i].Input = in
		case MonitorEnded:
			in.At = in.At.Add(behind)
			all[i].Input = in
		}
	}
}
