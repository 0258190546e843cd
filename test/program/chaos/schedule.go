//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// runtimes are what runs the workers, in turn.
var runtimes = []string{"process", "process", "inline"}

// The times of a plan, since the monitors were registered.
const (
	earliestOnset  = 9 * time.Second // a watcher that was disturbed as it began is at work by then
	latestRecovery = 28 * time.Second
	latestFault    = 24 * time.Second
	threshold      = 3 * time.Second // of both alerts
	grid           = 500 * time.Millisecond
)

// span is a stretch of a stream.
type span struct{ from, to time.Duration }

// script is what a stream does.
type streamScript struct {
	interval      int // seconds between two checks
	black, silent []span
}

// strike is one fault at one time.
type fault struct {
	kind         *faultType
	at, duration time.Duration // when, and for how long
	monitor      int           // whose worker or tool
	parameter    int           // how much, as the kind understands it
	replaces     string        // of which kind, when that cannot be had here
	startedAt    *time.Time    // set by a fault that waits for its moment, when it has come
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
type schedule struct {
	seed             int
	externalDatabase bool   // the database is a server of its own, which is reached through a pipe
	runtime          string // of the workers
	scripts          []streamScript
	faults           []fault
	finalFaults      []fault       // since the streams ended
	crashes          []crash       // of the first, second, … gateway; an empty one: none
	clockOffset      time.Duration // by how much the gateway's is off when it starts
}

// draw makes the plan of a seed, of faults that can be had.
func generate(seed int, available capabilities) schedule {
	r := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	s := schedule{seed: seed, externalDatabase: seed%4 != 0, runtime: runtimes[seed%len(runtimes)]}
	for range 2 + r.IntN(2) {
		s.scripts = append(s.scripts, generateScript(r))
	}
	s.addCrashes(r)
	for i := range 9 + r.IntN(4) {
		// The first four go round all kinds, a quarter of them apart, so that a few
		// seeds have them all.
		ft := pickFaultType(r)
		if i < 4 {
			for n := seed + i*len(faultTypes)/4; ; n++ {
				if ft = &faultTypes[n%len(faultTypes)]; ft.applies == nil || ft.applies(s) {
					break
				}
			}
		}
		s.addFault(r, ft, available)
	}
	s.addFinalFaults(r, available)
	s.addClockOffAtStart()
	slices.SortStableFunc(s.faults, func(a, b fault) int { return int(a.at - b.at) })
	return s
}

// drawKind takes any kind, and the frequent ones more often.
func pickFaultType(r *rand.Rand) *faultType {
	sum := 0
	for i := range faultTypes {
		sum += 1 + faultTypes[i].extraWeight
	}
	n := r.IntN(sum)
	for i := range faultTypes {
		if n -= 1 + faultTypes[i].extraWeight; n < 0 {
			return &faultTypes[i]
		}
	}
	panic("the kinds add up to less than their sum")
}

// drawScript lets a stream misbehave two or three times.
func generateScript(r *rand.Rand) streamScript {
	s := streamScript{interval: 1 + r.IntN(2)}
	// Onsets and lengths differ by some steps of the grid.
	one := func(from, by time.Duration, steps int) span {
		from += time.Duration(r.IntN(steps+1)) * grid
		return span{from, from + by + time.Duration(r.IntN(3))*grid}
	}
	twice := func() []span {
		first := one(earliestOnset, 6*time.Second, 4)
		return []span{first, one(first.to+3500*time.Millisecond, 4500*time.Millisecond, 2)}
	}
	once := func() []span {
		return []span{one(earliestOnset, 7*time.Second, 16)}
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
func (s *schedule) addCrashes(r *rand.Rand) {
	at := func(c int) crash {
		point := crashPoints[c%len(crashPoints)]
		return crash{point.name, 1 + r.IntN(point.maxPasses), time.Duration(r.Int64N(int64(point.maxDelay) + 1)).Truncate(time.Millisecond)}
	}
	s.crashes = make([]crash, 2)
	if s.seed%2 == 0 {
		s.crashes[0] = at(s.seed / 2)
	}
	if r.IntN(4) == 0 {
		s.crashes[1] = at(r.IntN(len(crashPoints)))
	}
}

// startOff lets every seventh seed's gateway begin with the wrong time, ahead and
// behind in turn, and keep it until its monitors have been registered.
func (s *schedule) addClockOffAtStart() {
	f := fault{kind: &clockOffAtStart, duration: clockOffAtStart.minDuration, parameter: s.seed / 7}
	if s.seed%7 == 0 && !s.collides(f) {
		s.clockOffset = hourOffset(f)
		s.faults = append(s.faults, f)
	}
}

// drawFinale lets every second seed have trouble while the end is being told.
func (s *schedule) addFinalFaults(r *rand.Rand, available capabilities) {
	if r.IntN(2) == 0 {
		return
	}
	for range 1 + r.IntN(2) {
		ft := pickFaultType(r)
		if ft.component == clockComponent || ft.component == toolComponent || ft.applies != nil && !ft.applies(*s) || ft.requires != nil && !ft.requires(available) {
			continue
		}
		f := fault{kind: ft, monitor: r.IntN(len(s.scripts)), parameter: r.IntN(1000), at: time.Duration(r.Int64N(3000)) * time.Millisecond, duration: ft.minDuration}
		if len(s.finalFaults) == 0 || s.finalFaults[0].kind.component != ft.component {
			s.finalFaults = append(s.finalFaults, f)
		}
	}
}

// place finds a time for a fault at which it does not run into another one of
// the same subject; where there is none it is left out.
func (s *schedule) addFault(r *rand.Rand, ft *faultType, available capabilities) {
	instead := ""
	for ft.requires != nil && !ft.requires(available) {
		instead, ft = ft.name, ft.fallback()
	}
	count := 0
	for _, f := range s.faults {
		if f.kind.component == ft.component {
			count++
		}
	}
	if count >= maxFaults[ft.component] || ft.applies != nil && !ft.applies(*s) {
		return
	}
	for range 20 {
		f := fault{kind: ft, monitor: r.IntN(len(s.scripts)), parameter: r.IntN(1000), replaces: instead}
		f.at = s.injectionTime(r)
		if ft.minDuration > 0 {
			f.duration = ft.minDuration + time.Duration(r.Int64N(int64(ft.maxDuration-ft.minDuration)+1)).Truncate(time.Millisecond)
		}
		if !s.collides(f) && !s.expiresTwice(f) {
			s.faults = append(s.faults, f)
			return
		}
	}
}

// moment is when to strike: anywhen, or, for every second fault, when there is
// something to tell: the stretch of time in which an alert or a recovery is
// noticed, reported, stored and sent.
func (s *schedule) injectionTime(r *rand.Rand) time.Duration {
	at := 300*time.Millisecond + time.Duration(r.Int64N(int64(latestFault)))
	if r.IntN(2) == 0 {
		s := s.scripts[r.IntN(len(s.scripts))]
		all := slices.Concat(s.black, s.silent)
		at = all[r.IntN(len(all))].from + threshold
		if r.IntN(2) == 0 {
			at = all[r.IntN(len(all))].to
		}
		at = min(at+time.Duration(r.Int64N(int64(4*time.Second))), latestFault)
	}
	return at.Truncate(time.Millisecond)
}

func (s *schedule) collides(f fault) bool {
	for _, other := range s.faults {
		gap := minGap[f.kind.component]
		if other.kind.component == f.kind.component && f.at < other.at+other.duration+gap && other.at < f.at+f.duration+gap {
			return true
		}
	}
	return false
}

// expiresTwice tells whether a fault would let a monitor's media URLs expire for
// the second time. A watcher takes a URL that is refused a moment after it was
// renewed for one renewed in vain, and is in no hurry to renew it again.
func (s *schedule) expiresTwice(f fault) bool {
	return f.kind.expiresURLs && slices.ContainsFunc(s.faults, func(other fault) bool {
		return other.kind.expiresURLs && other.monitor == f.monitor
	})
}

// String is the plan for people.
func (s schedule) String() string {
	var b strings.Builder
	database := "the gateway's own"
	if s.externalDatabase {
		database = "a server of its own"
	}
	fmt.Fprintf(&b, "seed %d: database: %s; workers: %s\n", s.seed, database, s.runtime)
	for i, s := range s.scripts {
		fmt.Fprintf(&b, "  monitor %d   checked every %d s; black %v, silent %v\n", i, s.interval, s.black, s.silent)
	}
	for i, c := range s.crashes {
		if c.point != "" {
			fmt.Fprintf(&b, "  gateway %d   dies at %s\n", i+1, c)
		}
	}
	for _, f := range s.faults {
		fmt.Fprintf(&b, "  %8.3f s  %s\n", f.at.Seconds(), f)
	}
	for _, f := range s.finalFaults {
		fmt.Fprintf(&b, "  %8.3f s after the streams have ended: %s\n", f.at.Seconds(), f)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s span) String() string { return fmt.Sprintf("%.1f–%.1f s", s.from.Seconds(), s.to.Seconds()) }

func (f fault) String() string {
	text := f.kind.name
	if f.kind.perMonitor {
		text += fmt.Sprintf(" of monitor %d", f.monitor)
	}
	if f.duration > 0 {
		text += fmt.Sprintf(" for %.1f s", f.duration.Seconds())
	}
	if f.replaces != "" {
		text += fmt.Sprintf(" (instead of: %s, which this machine does not allow)", f.replaces)
	}
	return text
}
