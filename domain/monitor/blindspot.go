package monitor

import "time"

// UnseenClass says why a worker does not know how its stream is.
type UnseenClass string

// The classes.
const (
	Refused     UnseenClass = "refused" // the source refuses the address that asks: 401, 403, 429, a bot check
	NoDNS       UnseenClass = "dns"     // the name of the source is not resolved
	NoProxy     UnseenClass = "proxy"   // the proxy cannot be reached, or refuses
	NoNetwork   UnseenClass = "network" // no other way to the source: a firewall, TLS, no answer in time, 5xx
	NoTool      UnseenClass = "tool"    // the tool that asks fails
	NoLogin     UnseenClass = "login"   // the stream needs a login, and its cookie jar has none that is accepted
	OtherUnseen UnseenClass = "unknown" // nothing says why
)

// UnseenClasses are all of them.
var UnseenClasses = []UnseenClass{Refused, NoDNS, NoProxy, NoNetwork, NoTool, NoLogin, OtherUnseen}

// Unseen says that a worker knows neither the state of its stream nor its media at present, and
// why (decision S15). The zero value: it knows.
type Unseen struct {
	Since  time.Time   `json:"since"`            // when something was last learned, or the watch began
	Class  UnseenClass `json:"class"`            // of the latest question
	Egress string      `json:"egress,omitempty"` // the address that asked it; empty: there is no choice
}

// UnseenGroup counts streams that are unseen for one class through one address.
type UnseenGroup struct {
	Unseen // since the first of them

	Monitors int `json:"monitors"`
}

// BlindSpot counts the streams that the workers of all gateways cannot see, when they are so
// many that they have one cause.
type BlindSpot struct {
	Monitors int          `json:"monitors"` // that are unseen
	Watched  int          `json:"watched"`  // among so many
	Since    time.Time    `json:"since"`    // of the first
	Class    *UnseenClass `json:"class"`    // null: several
	Egress   *string      `json:"egress"`   // the address; empty: there is no choice; null: several
}

// Limits of a blind spot: so many streams, or all that are watched.
const (
	blindSpotMin   = 3
	blindSpotMost  = 10 // are enough, however many are watched
	blindSpotShare = 5  // one in so many
)

// NewBlindSpot sums groups up; nil: they are too few of the watched streams to have one cause.
func NewBlindSpot(groups []UnseenGroup, watched int) *BlindSpot {
	b := BlindSpot{Watched: watched}
	for i, g := range groups {
		b.Monitors += g.Monitors
		if i == 0 {
			b.Since, b.Class, b.Egress = g.Since, &g.Class, &g.Egress
			continue
		}
		if g.Since.Before(b.Since) {
			b.Since = g.Since
		}
		if b.Class != nil && *b.Class != g.Class {
			b.Class = nil
		}
		if b.Egress != nil && *b.Egress != g.Egress {
			b.Egress = nil
		}
	}
	if b.Monitors == 0 || b.Monitors < min(blindSpotMin, watched) || b.Monitors*blindSpotShare < min(blindSpotShare*blindSpotMost, watched) {
		return nil
	}
	return &b
}
