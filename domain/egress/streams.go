package egress

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// How long a stream counts after its last question.
const (
	streamKept  = 2 * time.Hour    // as a stream of its address; a live stream has a question an hour
	waitingKept = 10 * time.Minute // as one that waits for its start
)

// streams are the streams that use the addresses of a Pool.
type streams map[monitor.StreamURL]*stream

// stream is what a Pool remembers of a stream.
type stream struct {
	address    *address  // nil: the next question selects one
	askedAt    time.Time // the last question
	answeredAt time.Time // the last answer that told its state; before one, the first question
	waiting    bool      // for its start, by the last answer
}

// loads returns how many streams use each address.
func (all streams) loads() map[*address]int {
	loads := map[*address]int{}
	for _, s := range all {
		if s.address != nil {
			loads[s.address]++
		}
	}
	return loads
}

// waiting returns how many streams of an address wait for their start.
func (all streams) waiting(now time.Time, a *address) (n int) {
	for _, s := range all {
		if s.address == a && s.waiting && now.Sub(s.askedAt) < waitingKept {
			n++
		}
	}
	return n
}

// forget forgets the streams about which nobody asks any more.
func (all streams) forget(now time.Time) {
	for url, s := range all {
		if now.Sub(s.askedAt) > streamKept {
			delete(all, url)
		}
	}
}
