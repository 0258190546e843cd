package egress

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The intervals of polls.
const (
	pollInterval = 30 * time.Second // of a waiting stream, by section 7.5
	relaxedBelow = 24 * time.Second // stretching ends when the budget allows a shorter interval than this
	maxInterval  = 4*time.Minute + 30*time.Second

	// A stream without an answer is told to be blind by this time (decisions S15 and S20).
	toldBlind = 6*time.Minute + 30*time.Second
)

// Delay returns for how long a poll of a stream is held back at now, so that its address keeps the
// budget. Waiting streams share equally the part of it that starts and outages leave. No
// two polls of a stream are more than 4.5 minutes apart: after 5 it would count as blind. A
// stream that has had no answer for 4.5 minutes is not held back until it is told to be
// blind. Otherwise one poll that fails would make it so.
func (p *Pool) Delay(now time.Time, url monitor.StreamURL, preferred string) (delay time.Duration, notices []Notice) {
	s := p.streams[url]
	if p.budget == 0 || s == nil {
		return 0, nil
	}
	a := p.pick(now, url, preferred)
	_, others := a.asked.lastHour(now)
	interval := allowedInterval(p.streams.waiting(now, a), p.budget-others)
	switch {
	case interval > pollInterval:
		if a.stretched == 0 {
			notices = append(notices, Notice{Kind: Stretched, Address: a.name, Interval: interval})
		}
		a.stretched = interval
	case a.stretched == 0:
	case interval > relaxedBelow:
		a.stretched = pollInterval
	default:
		a.stretched = 0
		notices = append(notices, Notice{Kind: StretchedOver, Address: a.name})
	}
	if a.stretched == 0 {
		return 0, notices
	}
	due := s.askedAt.Add(interval)
	if limit := s.answeredAt.Add(maxInterval); limit.Before(due) && now.Before(s.answeredAt.Add(toldBlind)) {
		due = limit
	}
	return max(0, due.Sub(now)), notices
}

// allowedInterval returns the shortest interval between two polls of each waiting stream of an
// address, if left questions an hour remain for their polls. It is at most maxInterval.
func allowedInterval(waiting, left int) time.Duration {
	switch {
	case waiting == 0:
		return 0
	case left <= 0:
		return maxInterval
	}
	return min(maxInterval, time.Duration(waiting)*time.Hour/time.Duration(left))
}

// hourCount counts the questions of the last hour, by the minute.
type hourCount [60]minuteCount

type minuteCount struct {
	minute        int64 // since 1970
	polls, others int
	pages         int // of channels, which others has, too
}

// at returns the count of a minute.
func (h *hourCount) at(now time.Time) *minuteCount {
	minute := now.Unix() / 60
	m := &h[minute%60]
	if m.minute != minute {
		*m = minuteCount{minute: minute}
	}
	return m
}

func (h *hourCount) add(now time.Time, poll bool) {
	m := h.at(now)
	if poll {
		m.polls++
	} else {
		m.others++
	}
}

func (h *hourCount) lastHour(now time.Time) (polls, others int) {
	first := now.Unix()/60 - 59
	for _, m := range h {
		if m.minute >= first {
			polls += m.polls
			others += m.others
		}
	}
	return polls, others
}

// pages returns how many pages of channels were read in the last hour.
func (h *hourCount) pages(now time.Time) (all int) {
	first := now.Unix()/60 - 59
	for _, m := range h {
		if m.minute >= first {
			all += m.pages
		}
	}
	return all
}

// pagesShare is the part of the budget that pages of channels may use; the rest is left for streams.
const pagesShare = 2

// Page counts the reading of a channel's page at now, and returns the address that it leaves through. Of those that do not
// rest, that is the one with the fewest pages in the last hour. ok is false, and nothing is counted, if pages have used half of the
// budget of each address. Pages leave less of the budget for the polls of waiting streams.
func (p *Pool) Page(now time.Time) (name string, ok bool) {
	var least *address
	for _, a := range p.addresses {
		if !a.rests(now) && (least == nil || a.asked.pages(now) < least.asked.pages(now)) {
			least = a
		}
	}
	if least == nil || p.budget > 0 && least.asked.pages(now) >= max(1, p.budget/pagesShare) {
		return "", false
	}
	m := least.asked.at(now)
	m.pages, m.others = m.pages+1, m.others+1
	return least.name, true
}
