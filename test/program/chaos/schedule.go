//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// runtimes are the worker runtimes, used in turn.
var runtimes = []string{"process", "process", "inline"}

// The times of a schedule count from the registration of the monitors.
const (
	earliestOnset  = 9 * time.Second // a worker whose start was disturbed is watching by then
	latestRecovery = 28 * time.Second
	latestFault    = 24 * time.Second
	threshold      = 3 * time.Second // of both alerts (blackout_threshold_sec, silence_threshold_sec)
	timeStep       = 500 * time.Millisecond
)

// maxDown is the longest time for which one of two gateways stays away after a kill. The
// other one takes its monitors over after 5 s.
const maxDown = 7 * time.Second

// span is a part of a stream's timeline.
type span struct{ from, to time.Duration }

// streamScript lists when a stream is black and when it is silent.
type streamScript struct {
	interval      int // check_interval_sec
	black, silent []span
}

// fault is a scheduled fault: a fault type at a time.
type fault struct {
	kind         *faultType
	at, duration time.Duration // since the registration, or the end of the streams
	monitor      int           // index of the monitor whose worker or tool is affected
	gateway      int           // index of the gateway that is affected
	down         time.Duration // how long a killed gateway stays away; 0: restartDelay
	parameter    int           // random, 0 to 999; its use depends on the fault type
	startedAt    *time.Time    // set later by a fault that waits for a webhook
}

// crash makes a gateway end itself at a crash point.
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

// schedule is everything that a seed decides.
type schedule struct {
	seed             int
	externalDatabase bool   // a PostgreSQL server of its own, reached through a link
	mountsDisks      bool   // so that they can be filled
	runtime          string // of the workers
	scripts          []streamScript
	faults           []fault
	finalFaults      []fault       // injected after the streams have ended
	gateways         []gatewayPlan // one or two
}

// gatewayPlan is what a seed decides of a gateway.
type gatewayPlan struct {
	crashes     []crash       // of its first, second, … run; an empty one: no crash
	clockOffset time.Duration // while no fault changes its clock
}

// generate makes the schedule of a seed. Without mountsDisks it has no fault that fills a disk.
func generate(seed int, mountsDisks bool) schedule {
	r := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	s := schedule{seed: seed, externalDatabase: seed%4 != 0, mountsDisks: mountsDisks, runtime: runtimes[seed%len(runtimes)]}
	for range 2 + r.IntN(2) {
		s.scripts = append(s.scripts, generateScript(r))
	}
	s.addGateways(r)
	for i := range 9 + r.IntN(4) {
		// The first four faults step through the fault types in order, so that 20
		// seeds cover all of them.
		ft := pickFaultType(r)
		if i < 4 {
			for n := seed + i*len(faultTypes)/4; ; n++ {
				if ft = &faultTypes[n%len(faultTypes)]; ft.appliesTo(s) {
					break
				}
			}
		}
		s.addFault(r, ft)
	}
	s.addFinalFaults(r)
	s.addOperations()
	slices.SortStableFunc(s.faults, func(a, b fault) int { return int(a.at - b.at) })
	return s
}

// dropFaults makes a schedule in which nothing goes wrong.
func (s *schedule) dropFaults() {
	s.faults, s.finalFaults = nil, nil
	for n := range s.gateways {
		s.gateways[n].crashes = nil
	}
}

// pickFaultType picks a random fault type; extraWeight makes some more likely.
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
	panic("unreachable: n is less than the sum of the weights")
}

// generateScript gives a stream two blackouts or two silences, and one or two
// of the other.
func generateScript(r *rand.Rand) streamScript {
	s := streamScript{interval: 1 + r.IntN(2)}
	// Onsets and durations are random multiples of timeStep.
	randomSpan := func(from, duration time.Duration, steps int) span {
		from += time.Duration(r.IntN(steps+1)) * timeStep
		return span{from, from + duration + time.Duration(r.IntN(3))*timeStep}
	}
	twice := func() []span {
		first := randomSpan(earliestOnset, 6*time.Second, 4)
		return []span{first, randomSpan(first.to+3500*time.Millisecond, 4500*time.Millisecond, 2)}
	}
	once := func() []span {
		return []span{randomSpan(earliestOnset, 7*time.Second, 16)}
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

// addGateways plans one gateway, which ends at a crash point in its first run in every
// second seed, all points in turn. In a quarter of the seeds its second run crashes, too.
// Every second group of three seeds has another gateway, unless the database belongs to the
// first. Both have clocks that are wrong, and the other one crashes while it delivers.
func (s *schedule) addGateways(r *rand.Rand) {
	crashAt := func(c int) crash {
		point := crashPoints[c%len(crashPoints)]
		return crash{point.name, 1 + r.IntN(point.maxPasses), time.Duration(r.Int64N(int64(point.maxDelay) + 1)).Truncate(time.Millisecond)}
	}
	first := gatewayPlan{crashes: make([]crash, 2)}
	if s.seed%2 == 0 {
		first.crashes[0] = crashAt(s.seed / 2)
	}
	if r.IntN(4) == 0 {
		first.crashes[1] = crashAt(r.IntN(len(crashPoints)))
	}
	s.gateways = []gatewayPlan{first}
	if !s.externalDatabase || s.seed/3%2 == 0 {
		return
	}
	point := deliveryCrashes[(s.seed/6*3+s.seed%3)%len(deliveryCrashes)]
	s.gateways = append(s.gateways, gatewayPlan{crashes: []crash{{point: point, nth: 1 + r.IntN(2)}}})
	for n := range s.gateways {
		s.gateways[n].clockOffset = time.Duration(r.IntN(7201)-3600) * time.Second
	}
}

// addFinalFaults adds faults to half of the schedules that are injected while
// stream.ended is delivered.
func (s *schedule) addFinalFaults(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	for range 1 + r.IntN(2) {
		f := s.newFault(r, pickFaultType(r), len(s.finalFaults))
		f.at, f.duration = time.Duration(r.Int64N(3000))*time.Millisecond, f.kind.minDuration
		late := f.kind.component == clockComponent || f.kind.component == toolComponent // it would find nothing to affect
		if !late && f.kind.appliesTo(*s) && (len(s.finalFaults) == 0 || s.finalFaults[0].kind.component != f.kind.component) {
			s.finalFaults = append(s.finalFaults, f)
		}
	}
}

// newFault makes a fault for which all but its time is chosen. Two gateways are killed in turn,
// by count, and then stay away for a while, in which the other one may take over.
func (s *schedule) newFault(r *rand.Rand, ft *faultType, count int) fault {
	f := fault{kind: ft, monitor: r.IntN(len(s.scripts)), gateway: r.IntN(len(s.gateways)), parameter: r.IntN(1000)}
	if ft.component == gatewayComponent {
		f.gateway = (s.seed + count) % len(s.gateways)
		if len(s.gateways) > 1 && strings.HasPrefix(ft.name, "gateway killed") {
			f.down = time.Duration(r.Int64N(int64(maxDown))).Truncate(time.Millisecond)
		}
	}
	if ft.minDuration > 0 {
		f.duration = ft.minDuration + time.Duration(r.Int64N(int64(ft.maxDuration-ft.minDuration)+1)).Truncate(time.Millisecond)
	}
	return f
}

// addFault adds a fault at a time at which no other fault affects the same
// component. It adds nothing if it finds no such time.
func (s *schedule) addFault(r *rand.Rand, ft *faultType) {
	count := 0
	for _, f := range s.faults {
		if f.kind.component == ft.component {
			count++
		}
	}
	if count >= maxFaults[ft.component] || !ft.appliesTo(*s) {
		return
	}
	for range 20 {
		f := s.newFault(r, ft, count)
		f.at = s.injectionTime(r)
		if !s.collides(f) && !s.expiresTwice(f) {
			s.faults = append(s.faults, f)
			return
		}
	}
}

// injectionTime returns a random time. Half of the times are within 4 s after
// an alert or a recovery becomes due, while it is detected, reported, stored
// and sent.
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

// collides reports whether a fault is too close to another of the same
// component.
func (s *schedule) collides(f fault) bool {
	for _, other := range s.faults {
		gap := minGap[f.kind.component]
		if other.kind.component == f.kind.component && f.at < other.at+other.duration+gap && other.at < f.at+f.duration+gap {
			return true
		}
	}
	return false
}

// expiresTwice reports whether a fault would let a monitor's media URLs expire
// a second time. A worker delays a second renewal that follows the first within
// seconds.
func (s *schedule) expiresTwice(f fault) bool {
	return f.kind.expiresURLs && slices.ContainsFunc(s.faults, func(other fault) bool {
		return other.kind.expiresURLs && other.monitor == f.monitor
	})
}

// String formats the schedule for the terminal, one fault a line.
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
	for i, g := range s.gateways {
		if len(s.gateways) > 1 {
			fmt.Fprintf(&b, "  gateway %d   clock off by %s\n", i+1, g.clockOffset)
		}
		for n, c := range g.crashes {
			if c.point != "" {
				fmt.Fprintf(&b, "  gateway %d   run %d crashes at %s\n", i+1, n+1, c)
			}
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
	if f.gateway > 0 || f.down > 0 {
		text += fmt.Sprintf(" (gateway %d", f.gateway+1)
		if f.down > 0 {
			text += fmt.Sprintf(", away for %.1f s", f.down.Seconds())
		}
		text += ")"
	}
	return text
}
