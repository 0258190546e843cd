//go:build linux

package main

import (
	"fmt"
	"strconv"
	"time"
)

// setting is what the gateway's clock was set to, and its workers' with it.
type setting struct {
	at time.Time
	by time.Duration
}

// setClock sets it.
func (s *site) setClock(by time.Duration) error {
	s.mu.Lock()
	s.clocks = append(s.clocks, setting{time.Now(), by})
	s.mu.Unlock()
	return replace(s.path("clock"), by.String())
}

// clockWithin is how far a receiver of the matrix lets X-Timestamp be from the
// true time: as far as clocks are stepped, and the 300 s of section 12.2.
const clockWithin = time.Hour + 300*time.Second

// stamps: a webhook bears the time at which it was sent, as the gateway's clock
// had it. The receiver has seen to the 300 s of section 12.2.
func (b *books) stamps() (findings []string) {
	for _, d := range b.deliveries {
		seconds, err := strconv.ParseInt(d.Header.Get("X-Timestamp"), 10, 64)
		if err != nil {
			continue // it is not verified, and that is said
		}
		if stamp := time.Unix(seconds, 0); !b.stamped(stamp, d.Received) {
			findings = append(findings, fmt.Sprintf("attempt %d of event %s came at %s and is of %s, which the gateway's clock did not show then",
				d.Attempt, d.EventID, clock(d.Received), clock(stamp)))
		}
	}
	return findings
}

// stamped tells whether the gateway's clock showed a stamp, which leaves out what
// is less than a second, at a time from which on it may have taken until received.
func (b *books) stamped(stamp, received time.Time) bool {
	clocks := append([]setting{{at: received.Add(-300 * time.Second)}}, b.clocks...)
	for i, c := range clocks {
		until := received
		if i+1 < len(clocks) && clocks[i+1].at.Before(until) {
			until = clocks[i+1].at
		}
		sent := stamp.Add(-c.by)
		if sent.Add(time.Second+exact).After(c.at) && sent.Before(until.Add(exact)) {
			return true
		}
	}
	return false
}
