//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The times of a plan, since the monitors were registered.
const (
	firstOnset = 9 * time.Second // a watcher that was disturbed as it began is at work by then
	lastEnd    = 28 * time.Second
	lastStrike = 24 * time.Second
	threshold  = 3 * time.Second // of both alerts
	grid       = 500 * time.Millisecond
)

// span is a stretch of a stream.
type span struct{ from, to time.Duration }

// script is what a stream does.
type script struct {
	interval      int // seconds between two checks
	black, silent []span
}

// strike is one fault at one time.
type strike struct {
	kind    *kind
	at, by  time.Duration // when, and for how long
	monitor int           // whose worker or tool
	amount  int           // how much, as the kind understands it
	instead string        // of which kind, when that cannot be had here
	began   *time.Time    // set by a fault that waits for its moment, when it has come
}

// crash is an end at a named point.
type crash struct {
	point string
	nth   int
	delay time.Duration
}

func (c crash) String() string {
	if c.point == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%s", c.point, c.nth, c.delay)
}

// plan is everything that a seed decides.
type plan struct {
	seed     int
	external bool   // the database is a server of its own, which is reached through a pipe
	runtime  string // of the workers
	scripts  []script
	strikes  []strike
	finale   []strike      // since the streams ended
	crashes  []crash       // of the first, second, … gateway; an empty one: none
	clock    time.Duration // by how much the gateway's is off when it starts
}

// draw makes the plan of a seed, of faults that can be had.
func draw(seed int, can ability) plan {
	r := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	p := plan{seed: seed, external: seed%4 != 0, runtime: runtimes[seed%len(runtimes)]}
	for range 2 + r.IntN(2) {
		p.scripts = append(p.scripts, drawScript(r))
	}
	p.drawCrashes(r)
	for i := range 9 + r.IntN(4) {
		// The first four go round all kinds, a quarter of them apart, so that a few
		// seeds have them all.
		k := drawKind(r)
		if i < 4 {
			for n := seed + i*len(kinds)/4; ; n++ {
				if k = &kinds[n%len(kinds)]; k.suits == nil || k.suits(p) {
					break
				}
			}
		}
		p.place(r, k, can)
	}
	p.drawFinale(r, can)
	p.startOff()
	slices.SortStableFunc(p.strikes, func(a, b strike) int { return int(a.at - b.at) })
	return p
}

// drawKind takes any kind, and the frequent ones more often.
func drawKind(r *rand.Rand) *kind {
	sum := 0
	for i := range kinds {
		sum += 1 + kinds[i].often
	}
	n := r.IntN(sum)
	for i := range kinds {
		if n -= 1 + kinds[i].often; n < 0 {
			return &kinds[i]
		}
	}
	panic("the kinds add up to less than their sum")
}

// drawScript lets a stream misbehave two or three times.
func drawScript(r *rand.Rand) script {
	s := script{interval: 1 + r.IntN(2)}
	// Onsets and lengths differ by some steps of the grid.
	one := func(from, by time.Duration, steps int) span {
		from += time.Duration(r.IntN(steps+1)) * grid
		return span{from, from + by + time.Duration(r.IntN(3))*grid}
	}
	twice := func() []span {
		first := one(firstOnset, 6*time.Second, 4)
		return []span{first, one(first.to+3500*time.Millisecond, 4500*time.Millisecond, 2)}
	}
	once := func() []span {
		return []span{one(firstOnset, 7*time.Second, 16)}
	}
	switch r.IntN(3) {
	case 0:
		s.black, s.silent = twice(), once()
	case 1:
		s.black, s.silent = once(), twice()
	case 2:
		s.black, s.silent = twice(), twice()
	}
	return s
}

// drawCrashes lets every second seed's first gateway end at a point, all points
// in turn, and now and then the second gateway, too.
func (p *plan) drawCrashes(r *rand.Rand) {
	at := func(c int) crash {
		point := points[c%len(points)]
		return crash{point.name, 1 + r.IntN(point.most), time.Duration(r.Int64N(int64(point.delay) + 1)).Truncate(time.Millisecond)}
	}
	p.crashes = make([]crash, 2)
	if p.seed%2 == 0 {
		p.crashes[0] = at(p.seed / 2)
	}
	if r.IntN(4) == 0 {
		p.crashes[1] = at(r.IntN(len(points)))
	}
}

// startOff lets every seventh seed's gateway begin with the wrong time, ahead and
// behind in turn, and keep it until its monitors have been registered.
func (p *plan) startOff() {
	s := strike{kind: &offFromTheStart, by: offFromTheStart.least, amount: p.seed / 7}
	if p.seed%7 == 0 && !p.collides(s) {
		p.clock = hour(s)
		p.strikes = append(p.strikes, s)
	}
}

// drawFinale lets every second seed have trouble while the end is being told.
func (p *plan) drawFinale(r *rand.Rand, can ability) {
	if r.IntN(2) == 0 {
		return
	}
	for range 1 + r.IntN(2) {
		k := drawKind(r)
		if k.subject == clockSubject || k.subject == toolSubject || k.suits != nil && !k.suits(*p) || k.needs != nil && !k.needs(can) {
			continue
		}
		s := strike{kind: k, monitor: r.IntN(len(p.scripts)), amount: r.IntN(1000), at: time.Duration(r.Int64N(3000)) * time.Millisecond, by: k.least}
		if len(p.finale) == 0 || p.finale[0].kind.subject != k.subject {
			p.finale = append(p.finale, s)
		}
	}
}

// place finds a time for a fault at which it does not run into another one of
// the same subject; where there is none it is left out.
func (p *plan) place(r *rand.Rand, k *kind, can ability) {
	instead := ""
	for k.needs != nil && !k.needs(can) {
		instead, k = k.name, k.otherwise()
	}
	count := 0
	for _, s := range p.strikes {
		if s.kind.subject == k.subject {
			count++
		}
	}
	if count >= mostOf[k.subject] || k.suits != nil && !k.suits(*p) {
		return
	}
	for range 20 {
		s := strike{kind: k, monitor: r.IntN(len(p.scripts)), amount: r.IntN(1000), instead: instead}
		s.at = p.moment(r)
		if k.least > 0 {
			s.by = k.least + time.Duration(r.Int64N(int64(k.most-k.least)+1)).Truncate(time.Millisecond)
		}
		if !p.collides(s) && !p.expiresTwice(s) {
			p.strikes = append(p.strikes, s)
			return
		}
	}
}

// moment is when to strike: anywhen, or, for every second fault, when there is
// something to tell: the stretch of time in which an alert or a recovery is
// noticed, reported, stored and sent.
func (p *plan) moment(r *rand.Rand) time.Duration {
	at := 300*time.Millisecond + time.Duration(r.Int64N(int64(lastStrike)))
	if r.IntN(2) == 0 {
		s := p.scripts[r.IntN(len(p.scripts))]
		all := slices.Concat(s.black, s.silent)
		at = all[r.IntN(len(all))].from + threshold
		if r.IntN(2) == 0 {
			at = all[r.IntN(len(all))].to
		}
		at = min(at+time.Duration(r.Int64N(int64(4*time.Second))), lastStrike)
	}
	return at.Truncate(time.Millisecond)
}

func (p *plan) collides(s strike) bool {
	for _, other := range p.strikes {
		gap := apart[s.kind.subject]
		if other.kind.subject == s.kind.subject && s.at < other.at+other.by+gap && other.at < s.at+s.by+gap {
			return true
		}
	}
	return false
}

// expiresTwice tells whether a fault would let a monitor's media URLs expire for
// the second time. A watcher takes a URL that is refused a moment after it was
// renewed for one renewed in vain, and is in no hurry to renew it again.
func (p *plan) expiresTwice(s strike) bool {
	return s.kind.expires && slices.ContainsFunc(p.strikes, func(other strike) bool {
		return other.kind.expires && other.monitor == s.monitor
	})
}

// String is the plan for people.
func (p plan) String() string {
	var b strings.Builder
	database := "the gateway's own"
	if p.external {
		database = "a server of its own"
	}
	fmt.Fprintf(&b, "seed %d: database: %s; workers: %s\n", p.seed, database, p.runtime)
	for i, s := range p.scripts {
		fmt.Fprintf(&b, "  monitor %d   checked every %d s; black %v, silent %v\n", i, s.interval, s.black, s.silent)
	}
	for i, c := range p.crashes {
		if c.point != "" {
			fmt.Fprintf(&b, "  gateway %d   dies at %s\n", i+1, c)
		}
	}
	for _, s := range p.strikes {
		fmt.Fprintf(&b, "  %8.3f s  %s\n", s.at.Seconds(), s)
	}
	for _, s := range p.finale {
		fmt.Fprintf(&b, "  %8.3f s after the streams have ended: %s\n", s.at.Seconds(), s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s span) String() string { return fmt.Sprintf("%.1f–%.1f s", s.from.Seconds(), s.to.Seconds()) }

func (s strike) String() string {
	text := s.kind.name
	if s.kind.personal {
		text += fmt.Sprintf(" of monitor %d", s.monitor)
	}
	if s.by > 0 {
		text += fmt.Sprintf(" for %.1f s", s.by.Seconds())
	}
	if s.instead != "" {
		text += fmt.Sprintf(" (instead of: %s, which this machine does not allow)", s.instead)
	}
	return text
}
