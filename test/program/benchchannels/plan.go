package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// kind is what happens to a stream.
type kind string

const (
	live      kind = "live"         // it appears live
	scheduled kind = "scheduled"    // it appears a day before its start
	together  kind = "two at once"  // likewise, one of each on a channel at the same time
	moved     kind = "moved"        // scheduled, then moved by an hour; its page says the start
	early     kind = "early"        // scheduled, then live a day before its start
	deleted   kind = "deleted"      // scheduled, then deleted
	members   kind = "members-only" // live for members
)

// channelsOf is how many channels have streams of a kind.
var channelsOf = map[kind]int{live: 14, scheduled: 10, together: 4, moved: 4, early: 4, deleted: 4, members: 6}

// kinds are in the order in which they are printed.
var kinds = []kind{live, scheduled, together, moved, early, deleted, members}

// stream is a stream of the plan.
type stream struct {
	kind    kind
	url     string
	start   time.Time // scheduled, after the change; zero: it is live
	appears time.Time
	changes time.Time // it is moved or deleted; zero: never

	registered  time.Time // zero: it has no monitor
	active      bool      // the monitor is
	asScheduled bool      // the monitor has its start
	followed    time.Time // when the change was seen at the monitor
}

// done reports whether its monitor is as it should be.
func (s *stream) done() bool {
	switch s.kind {
	case members:
		return true
	case deleted:
		return !s.active && !time.Now().Before(s.changes)
	default:
		return s.active && s.asScheduled && !time.Now().Before(s.changes)
	}
}

// act is what happens at YouTube at an instant.
type act struct {
	at time.Time
	do func()
}

// plan is what happens, and what became of it.
type plan struct {
	acts     []act // that are still to be done
	streams  []*stream
	invented map[string]bool // streams that are watched, and should not be
}

// newPlan makes a plan that begins at an instant.
func newPlan(o options, began time.Time, s *site) plan {
	random := rand.New(rand.NewPCG(o.seed, 0))
	p := plan{invented: map[string]bool{}}
	free := random.Perm(o.count)
	within := func(from, to float64) time.Time {
		return began.Add(time.Duration((from + random.Float64()*(to-from)) * float64(o.duration)))
	}
	for _, k := range kinds {
		for range channelsOf[k] {
			at := slices.IndexFunc(free, func(n int) bool { return k != moved || layoutOf(n) == youtube.Renderer })
			v := youtube.Video{State: youtube.Live, Title: string(k), Channel: channelID(free[at]), Source: s.source, MembersOnly: k == members}
			free = slices.Delete(free, at, at+1)
			appears := within(0, 1)
			if k == together {
				p.add(s, stream{kind: k, appears: appears}, v)
			}
			if k != live && k != members {
				v.State, v.Scheduled = youtube.Upcoming, appears.Add(20*time.Hour+time.Duration(random.IntN(600))*time.Minute).Truncate(time.Minute)
			}
			one := stream{kind: k, appears: appears}
			if k == moved || k == early || k == deleted { // it was there for at least a third of the time
				one.appears, one.changes = within(0, 0.25), within(0.6, 1)
			}
			p.add(s, one, v)
		}
	}
	slices.SortFunc(p.acts, func(a, b act) int { return a.at.Compare(b.at) })
	return p
}

// add adds a stream that is this video, and what happens to it.
func (p *plan) add(s *site, one stream, v youtube.Video) {
	id := fmt.Sprintf("new%08d", len(p.streams))
	one.url, one.start = s.URL(id), v.Scheduled
	p.acts = append(p.acts, act{one.appears, func() { s.Add(id, v) }})
	changed := v
	switch one.kind {
	case moved:
		one.start = v.Scheduled.Add(time.Hour)
		changed.Scheduled = one.start
	case early:
		one.start, changed.State = time.Time{}, youtube.Live
	case deleted:
		changed.State = youtube.Removed
	default:
	}
	if !one.changes.IsZero() {
		p.acts = append(p.acts, act{one.changes, func() { s.Add(id, changed) }})
	}
	p.streams = append(p.streams, &one)
}

// act does what is due.
func (p *plan) act(now time.Time) {
	for len(p.acts) > 0 && !p.acts[0].at.After(now) {
		p.acts[0].do()
		p.acts = p.acts[1:]
	}
}

// observe looks at the monitors.
func (p *plan) observe(ctx context.Context, db bench.Database) error {
	rows, err := db.QueryContext(ctx, `
		SELECT stream_url, created_at, COALESCE(config->>'scheduled_start_time', ''), status IN ('initializing', 'waiting', 'monitoring') FROM monitors`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var url, start string
		var created time.Time
		var active bool
		if err := rows.Scan(&url, &created, &start, &active); err != nil {
			return err
		}
		at := slices.IndexFunc(p.streams, func(s *stream) bool { return s.url == url })
		if at < 0 || p.streams[at].kind == members {
			p.invented[url] = true
			continue
		}
		s := p.streams[at]
		starts, _ := time.Parse(time.RFC3339, start) // a stream that is live has none
		s.registered, s.active, s.asScheduled = created, active, starts.Equal(s.start)
		if s.followed.IsZero() && !s.changes.IsZero() && s.done() {
			s.followed = time.Now()
		}
	}
	return rows.Err()
}

// unsettled returns the streams that are not watched as they should be.
func (p *plan) unsettled() []*stream {
	return slices.DeleteFunc(slices.Clone(p.streams), (*stream).done)
}

// delays returns, of the streams of a kind, the times until they were registered, and until their change was followed.
func (p *plan) delays(k kind) (registered, followed bench.Times) {
	for _, s := range p.streams {
		if s.kind == k && !s.registered.IsZero() {
			registered = append(registered, max(0, s.registered.Sub(s.appears)))
		}
		if s.kind == k && !s.followed.IsZero() {
			followed = append(followed, max(0, s.followed.Sub(s.changes)))
		}
	}
	return registered, followed
}

// text returns what became of the streams.
func (p *plan) text() string {
	var b strings.Builder
	var all bench.Times
	line := func(what string, t bench.Times) {
		fmt.Fprintf(&b, "%-32s %3d: median %3.0f s, slowest %3.0f s\n", what, len(t), t.Percentile(50).Seconds(), t.Percentile(100).Seconds())
	}
	for _, k := range kinds {
		registered, followed := p.delays(k)
		all = append(all, registered...)
		if k != members {
			line(string(k)+", registered after", registered)
		}
		if len(followed) > 0 {
			line(string(k)+", followed after", followed)
		}
	}
	line("all, registered after", all)
	fmt.Fprintf(&b, "%d streams, missed %d, invented %d\n", len(p.streams), len(p.unsettled()), len(p.invented))
	return b.String()
}

// verdict returns an error that names what was missed or invented.
func (p *plan) verdict() (err error) {
	for _, s := range p.unsettled() {
		err = errors.Join(err, fmt.Errorf("%s, %s, is not watched as it should be: it appeared at %s, changed at %s, was registered at %s",
			s.url, s.kind, s.appears.Format(time.TimeOnly), s.changes.Format(time.TimeOnly), s.registered.Local().Format(time.TimeOnly)))
	}
	for url := range p.invented {
		err = errors.Join(err, fmt.Errorf("%s is watched, and should not be", url))
	}
	return err
}
