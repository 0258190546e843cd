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
	for n, found := range all {
		isPlanned := conditionIn(found.Input) == Late // a planned start is by no clock of the sender
		all[n].Input = withTimes(found.Input, func(at time.Time, isOnset bool) time.Time {
			if isOnset && (isPlanned || at.IsZero()) {
				return at
			}
			return at.Add(behind)
		})
	}
}

// withTimes returns an input whose times have been moved.
func withTimes(in Input, move func(at time.Time, isOnset bool) time.Time) Input {
	switch in := in.(type) {
	case Began:
		in.StartedAt, in.At = move(in.StartedAt, true), move(in.At, false)
		return in
	case Ended:
		in.StartedAt, in.EndedAt = move(in.StartedAt, true), move(in.EndedAt, false)
		return in
	case MonitorEnded:
		in.At = move(in.At, false)
		return in
	case Good:
		in.At = move(in.At, false)
		return in
	}
	return in
}
