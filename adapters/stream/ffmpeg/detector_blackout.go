package ffmpeg

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Black picture (section 6.3): luma of at most a tenth of its range in 98 % of the
// pixels. blackdetect tags the first black frame and the first one that is not.
var blackout = filter{
	expression: func(Settings) string {
		return fmt.Sprintf("blackdetect=d=0.1:pix_th=%.2f:pic_th=%.2f", detector.BlackLumaPercent/100.0, detector.BlackAreaPercent/100.0)
	},
	startKey:    "lavfi.black_start",
	endKey:      "lavfi.black_end",
	minDuration: 100 * time.Millisecond,
}
