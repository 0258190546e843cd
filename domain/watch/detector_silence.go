package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Silence (section 6.4). The analyser reports shorter intervals too. Two short ones
// on both sides of a segment boundary may be one long silence.
var _ = registerJudgement(detector.Silence, judgement{minimum: 500 * time.Millisecond, badWithoutTrack: true})
