package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Silence (section 6.4). The analyser reports shorter intervals too, because
// two of them may be one across a segment boundary.
var _ = register(detector.Silence, judgement{minimum: 500 * time.Millisecond, withoutTrack: true})
