package evidence

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Quota of one monitor (section 16.2). Without it, a worker that a stream has taken over could
// fill the blob store.
const (
	QuotaPeriod = time.Hour
	Quota       = 200 << 20 // bytes of files that are new to the blob store, within QuotaPeriod
	ClipQuota   = 180 << 20 // bytes that a clip may fill of it: pictures and levels have room when clips have none

	MaxRecordsPerEvent = 2 // an outage has one of its alert and one of its recovery
)

// QuotaExceeded is the code of an upload that the quota refuses.
const QuotaExceeded monitor.Code = "EVIDENCE_QUOTA_EXCEEDED"

// CheckQuota returns nil if a monitor whose files had used bytes within QuotaPeriod may store f as
// well. Error: *monitor.Error QuotaExceeded.
func (f File) CheckQuota(used int64) error {
	quota := int64(Quota)
	if f.Variant == Clip {
		quota = ClipQuota
	}
	if used+f.Size <= quota {
		return nil
	}
	return monitor.Errorf(QuotaExceeded, "the monitor has stored %.1f MiB of evidence within an hour; with this %s of %.1f MiB it would be more than %d MiB",
		mib(used), f.Variant, mib(f.Size), quota>>20)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
