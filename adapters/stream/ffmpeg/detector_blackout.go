package ffmpeg

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Black picture (section 6.3): luma of at most a tenth of its range in 98 % of the
// pixels. blackdetect tags the first black frame and the first one that is not.
var _ = register(detector.Blackout, filter{
	expression:  func(Settings) string { return "blackdetect=d=0.1:pix_th=0.10:pic_th=0.98" },
	startKey:    "lavfi.black_start",
	endKey:      "lavfi.black_end",
	minDuration: 100 * time.Millisecond,
})
