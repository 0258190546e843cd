package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// renewal follows a feed's URL from a refusal to the renewed URL (decision S7). It
// tells a URL that expired again from a segment that the server does not have. A
// successor goes on from it: a renewal may be lost with its worker.
//
//	          refuse             recordNewURL               recordAnalysed
//	in use ──────────────▶ refused ──────────────▶ untried ────────────────────▶ in use, RenewalWorked
//	   ▲    recordAnalysed │  ▲                       │
//	   └───────────────────┘  └─────── refuse ────────┘
//
// Other failures, such as a timeout, change nothing.
type renewal struct {
	RenewalWorked           bool `json:"renewal_worked,omitempty"`             // the last renewal made refused media readable again
	Refused                 bool `json:"refused,omitempty"`                    // the server refused the URL, and no segment has been analysed since
	RefusedAfterGoodRenewal bool `json:"refused_after_good_renewal,omitempty"` // RenewalWorked was true at that refusal, so the URL expired again
	RenewedUntried          bool `json:"renewed_untried,omitempty"`            // the URL was renewed after a refusal, and neither served a segment nor was refused since
}

// refuse records that the server refused the URL. It returns the pause between the
// last renewal and the next one. A segment that is refused under a renewed URL is
// missing, so it waits longer, unless that renewal had worked.
func (r *renewal) refuse(cause string) (pause time.Duration) {
	pause = playlistRenewPause
	if cause == event.FailedSegment && !r.RenewalWorked {
		pause = segmentRenewPause
	}
	r.RefusedAfterGoodRenewal = r.RefusedAfterGoodRenewal && r.Refused || r.RenewalWorked
	r.Refused, r.RenewedUntried, r.RenewalWorked = true, false, false
	return pause
}

// recordNewURL records that the feed has a new URL.
func (r *renewal) recordNewURL() {
	r.RenewedUntried, r.Refused, r.RefusedAfterGoodRenewal = r.Refused, false, false
}

// recordAnalysed records that a segment was analysed. A renewal worked if a segment is
// analysed under the new URL before the server refuses that URL. It proves nothing if
// the old URL served a segment after its refusal.
func (r *renewal) recordAnalysed() {
	if r.RenewedUntried {
		r.RenewalWorked = true
	}
	r.RenewedUntried, r.Refused = false, false
}
