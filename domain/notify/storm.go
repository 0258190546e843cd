package notify

import "time"

// The limits of section 19.7.
const (
	StormWindow  = time.Minute // incidents that are opened within it count
	stormOpened  = 10          // so many make a storm
	stormStreams = 3           // or those of so many streams, if
	stormShare   = 5           // they are a fifth of the live ones
)

// IsStorm reports whether the incidents of one StormWindow are a storm. opened counts these
// incidents, streams their streams, and live the streams that are live.
func IsStorm(opened, streams, live int) bool {
	return opened >= stormOpened || streams >= stormStreams && live > 0 && streams*stormShare >= live
}
