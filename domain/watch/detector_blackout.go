package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Black picture (section 6.3). The blackdetect filter reports nothing shorter than
// 0.1 s.
var _ = registerJudgement(detector.Blackout, judgement{minimum: 100 * time.Millisecond, badWithoutTrack: true})
