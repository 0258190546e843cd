package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Black picture (section 6.3): 0.1 s is the filter's own shortest interval.
var _ = register(detector.Blackout, judgement{minimum: 100 * time.Millisecond, withoutTrack: true})
