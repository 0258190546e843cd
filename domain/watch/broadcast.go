package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// broadcast is the one that is watched under a URL that names a place, where broadcasts come and go (decision
// S25). The zero value is that of a URL that names one broadcast.
type broadcast struct {
	ID      string        `json:"id,omitempty"`      // empty: unknown
	Returns time.Duration `json:"returns,omitempty"` // within which it may be gone and go on; 0: what is over stays over
}

// learn takes in what an answer says of the broadcast. It reports whether the answer is about another one than the
// one that is watched.
func (b *broadcast) learn(o Resolution, monitoring bool) (another bool) {
	if o.Returns > 0 {
		b.Returns = o.Returns
	}
	id := monitor.StorableText(o.Broadcast, monitor.MaxBroadcast)
	switch {
	case id == "" || o.State != Live && o.State != ManifestFound:
		return false
	case !monitoring || b.ID == "":
		b.ID = id
	}
	return b.ID != id
}

// endConfirm returns how much later a second answer confirms that the broadcast is over.
func (b broadcast) endConfirm() time.Duration { return max(endConfirm, b.Returns) }

// standstill returns how long all playlists have stood still when one answer is enough for the end.
func (b broadcast) standstill() time.Duration { return max(standstillLimit, b.Returns) }

// nextQuestion returns how long after an unconfirmed end to ask again. The quota of questions lasts until it is
// confirmed.
func (b broadcast) nextQuestion() time.Duration { return max(endConfirm, b.Returns/3) }

// ended reports whether every playlist has ended.
func (all mediaFeeds) ended() bool {
	for _, f := range all {
		if !f.Ended {
			return false
		}
	}
	return len(all) > 0
}
