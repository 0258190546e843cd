package egress

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The rules of an address.
const (
	MaxFailures = 10               // in a row, after which it rests
	RestTime    = 30 * time.Minute // for which it rests
)

// Pool holds the addresses of a process as one source treats them, and the streams of that source
// which use them. It is not safe for concurrent use. The times that it gets should not decrease; a small step back does no harm.
type Pool struct {
	source     monitor.SourceName
	budget     int // questions per hour and address; 0: no limit
	addresses  []*address
	streams    streams
	answeredAt time.Time // the last answer through any address; zero: none yet
	allFail    bool      // Record has returned a Notice of AllFail, and nothing has answered since
}

// address is one way to the source.
type address struct {
	name         string
	failures     int       // in a row
	pageFailures int       // how many of these are of pages
	failsSince   time.Time // the first of them
	last         Failure   // the newest of them
	restsUntil   time.Time
	asked        hourCount
	stretched    time.Duration // interval of the polls of a stream while the budget stretches it; 0: it does not
}

// NewPool makes a Pool of addresses, of which there is at least one. Their names differ. budget
// is how many questions each may ask the source in an hour; 0: any number.
func NewPool(source monitor.SourceName, names []string, budget int) *Pool {
	p := &Pool{source: source, budget: budget, streams: streams{}}
	for _, name := range names {
		p.addresses = append(p.addresses, &address{name: name})
	}
	return p
}

// Choose returns the address for a question that is asked at now. preferred is the one to
// which the stream's URLs are bound; empty or unknown: none.
func (p *Pool) Choose(now time.Time, url monitor.StreamURL, preferred string) (name string, notices []Notice) {
	p.streams.forget(now)
	a := p.pick(now, url, preferred)
	s := p.streams[url]
	if s == nil {
		s = &stream{answeredAt: now}
		p.streams[url] = s
	}
	s.address, s.askedAt = a, now
	if !a.restsUntil.IsZero() && !a.rests(now) {
		notices = append(notices, a.endRest())
	}
	return a.name, notices
}

// Other returns the address other than avoided that has the fewest streams and does not rest;
// empty: there is none. A second opinion comes through it (decision S19).
func (p *Pool) Other(now time.Time, url monitor.StreamURL, avoided string) string {
	var least *address
	loads := p.streams.loads()
	for _, a := range p.rotated(url) {
		if a.name != avoided && !a.rests(now) && (least == nil || loads[a] < loads[least]) {
			least = a
		}
	}
	if least == nil {
		return ""
	}
	return least.name
}

// Current returns the address that Choose would return.
func (p *Pool) Current(now time.Time, url monitor.StreamURL, preferred string) string {
	return p.pick(now, url, preferred).name
}

// pick returns the preferred address, or else that of the stream, or else the one with the fewest
// streams. It passes over addresses that rest; one never does.
func (p *Pool) pick(now time.Time, url monitor.StreamURL, preferred string) *address {
	if a := p.named(preferred); a != nil && !a.rests(now) {
		return a
	}
	if s := p.streams[url]; s != nil && s.address != nil && !s.address.rests(now) {
		return s.address
	}
	return p.named(p.Other(now, url, ""))
}

// rotated returns the addresses in their order, beginning with one that a hash of the stream's
// URL selects. So workers that do not share a Pool spread their streams over the addresses.
func (p *Pool) rotated(url monitor.StreamURL) []*address {
	hash := sha256.Sum256([]byte(url))
	from := (int(hash[0])<<8 | int(hash[1])) % len(p.addresses)
	return append(p.addresses[from:len(p.addresses):len(p.addresses)], p.addresses[:from]...)
}

// Record records the answer to a question of urgency u that was asked through an address.
func (p *Pool) Record(now time.Time, url monitor.StreamURL, name string, u watch.Urgency, state watch.StreamState) (notices []Notice) {
	a := p.named(name)
	if a == nil || state == watch.CircuitOpen { // nothing was asked
		return nil
	}
	a.asked.add(now, u == watch.UrgencyPoll)
	if s := p.streams[url]; s != nil && state.Known() {
		s.answeredAt, s.waiting = now, state == watch.Upcoming || state == watch.Offline
	}
	return p.recordState(now, a, state)
}

// RecordPage records what became of the reading of a channel's page that Page let through: any known state of a stream
// stands for an answer. A failure counts as that of a stream. An answer takes back the failures of pages before it. It
// takes back none of streams, which a source may refuse to an address that gets its pages.
func (p *Pool) RecordPage(now time.Time, name string, state watch.StreamState) (notices []Notice) {
	a := p.named(name)
	if a == nil {
		return nil
	}
	if ofStreams := a.failures - a.pageFailures; state.Known() && ofStreams > 0 {
		a.failures, a.pageFailures = ofStreams, 0
		return nil
	}
	if failureOf(state) != "" {
		a.pageFailures++
	}
	return p.recordState(now, a, state)
}

func (p *Pool) recordState(now time.Time, a *address, state watch.StreamState) (notices []Notice) {
	if state.Known() {
		return p.recordAnswer(now, a)
	}
	if failure := failureOf(state); failure != "" {
		return p.recordFailure(now, a, failure)
	}
	return nil
}

// recordAnswer begins the row of an address again, and the rows that all addresses shared: a question
// that was on its way when a failure of all ended must not make its address rest.
func (p *Pool) recordAnswer(now time.Time, a *address) (notices []Notice) {
	if p.allFailing() {
		for _, other := range p.addresses {
			if p.unproven(other) {
				other.failures, other.pageFailures, other.last = 0, 0, ""
			}
		}
	}
	a.failures, a.pageFailures, a.last = 0, 0, ""
	p.answeredAt, p.allFail = now, false
	if !a.restsUntil.IsZero() {
		notices = append(notices, a.endRest())
	}
	return notices
}

// recordFailure makes an address rest after MaxFailures in a row, unless all addresses fail.
// What all share is no fault of an address, so it also ends the rests that it caused.
func (p *Pool) recordFailure(now time.Time, a *address, failure Failure) (notices []Notice) {
	if a.failures == 0 {
		a.failsSince = now
	}
	a.failures++
	a.last = failure
	if p.allFailing() {
		notices = p.endSharedRests(now)
		if a.failures >= MaxFailures && !p.allFail {
			p.allFail = true
			notices = append(notices, Notice{Kind: AllFail, Address: a.name, Failure: failure})
		}
		return notices
	}
	if a.failures >= MaxFailures && !a.rests(now) {
		a.restsUntil = now.Add(RestTime)
		notices = append(notices, Notice{Kind: Rests, Address: a.name, Failure: failure, Left: RestTime})
	}
	return notices
}

// endSharedRests ends each rest during whose row of failures no address answered. If there is one,
// the streams select their addresses again, because they have moved to those that were left.
func (p *Pool) endSharedRests(now time.Time) (notices []Notice) {
	for _, a := range p.addresses {
		if a.rests(now) && p.unproven(a) {
			notices = append(notices, a.endRest())
		}
	}
	if notices != nil {
		for _, s := range p.streams {
			s.address = nil
		}
	}
	return notices
}

// allFailing reports whether the last question through every address failed.
func (p *Pool) allFailing() bool {
	return !slices.ContainsFunc(p.addresses, func(a *address) bool { return a.failures == 0 })
}

// unproven reports whether no address has answered since the row of this one began. So nothing
// shows that the address is to blame.
func (p *Pool) unproven(a *address) bool { return a.failsSince.After(p.answeredAt) }

// Status returns the state of every address, in their order.
func (p *Pool) Status(now time.Time) []Status {
	p.streams.forget(now)
	loads := p.streams.loads()
	all := make([]Status, len(p.addresses))
	for i, a := range p.addresses {
		polls, others := a.asked.lastHour(now)
		all[i] = Status{Name: a.name, Source: p.source, Failures: a.failures, Streams: loads[a], Questions: polls + others, Budget: p.budget}
		if a.last != "" {
			all[i].LastFailure = &a.last
		}
		if a.rests(now) {
			all[i].RestSec = int64((a.restsUntil.Sub(now) + time.Second - 1) / time.Second)
		}
		if p.streams.waiting(now, a) > 0 { // otherwise nobody polls, so no Delay ends the stretching
			all[i].PollIntervalSec = int64(a.stretched / time.Second)
		}
	}
	return all
}

// named returns the address of that name, or nil.
func (p *Pool) named(name string) *address {
	for _, a := range p.addresses {
		if a.name == name {
			return a
		}
	}
	return nil
}

func (a *address) rests(now time.Time) bool { return now.Before(a.restsUntil) }

func (a *address) endRest() Notice {
	a.restsUntil = time.Time{}
	return Notice{Kind: UsedAgain, Address: a.name}
}
