// Command benchchannels measures how a gateway finds the streams of many channels (chapter 20), in real time.
//
//	this program: fake YouTube ◀── pages of channels, yt-dlp ── gateway ── PostgreSQL
//	                 ▲                                                        │
//	                 streams that appear, move, vanish at known times;  monitors ◀── looks
//
// The gateway is the product with its own database and the real yt-dlp.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const help = `How many requests and how much CPU does it take to find the streams of many channels, and how late are they found?

All channels are in their usual hours, so that each is read every 2 minutes, or with -usual=false in none, so that each is read every
10 minutes (section 20.2). Streams appear at random times for as long as -for says: scheduled or live, two at once, for members; some
move, begin early or are deleted. It ends when all of them are watched as they should be, or two intervals and two minutes later. The exit
code is 1 if a stream is not watched as it should be by then, or one that should not be watched is. A signal ends it with what was measured until then.
`

const (
	pollInterval     = time.Second // between two looks at the monitors
	progressInterval = 30 * time.Second
)

// options are the command-line flags.
type options struct {
	count    int
	duration time.Duration
	usual    bool
	seed     uint64
}

// interval returns the longest time between two readings of a page that section 20.2 allows.
func (o options) interval() time.Duration {
	if o.usual {
		return channel.UsualInterval
	}
	return channel.Interval
}

func main() {
	var o options
	flag.IntVar(&o.count, "n", 500, "number of `CHANNELS`, from 50 to 1000")
	flag.DurationVar(&o.duration, "for", 5*time.Minute, "how long streams appear, and requests and CPU are measured")
	flag.BoolVar(&o.usual, "usual", true, "all channels are in their usual hours")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64N(1e6), "`NUMBER` that decides what happens when; default: at random")
	bench.Main("bench-channels", help, func(ctx context.Context) error {
		if o.count < 50 || o.count > channels.MaxChannels || o.duration <= 0 {
			return fmt.Errorf("-n must be from 50 to %d, and -for positive: %w", channels.MaxChannels, bench.ErrUsage)
		}
		return bench.InTempDir(func(dir string) error {
			return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error { return measure(ctx, o, dir, db) })
		})
	})
}

// run is the measurement.
type run struct {
	options

	db      bench.Database
	site    *site
	gateway *system.Service
	plan    plan
}

func measure(ctx context.Context, o options, dir string, db bench.Database) (err error) {
	binary, err := system.Build(ctx, dir)
	if err != nil {
		return err
	}
	r := &run{options: o, db: db}
	if r.site, err = startSite(ctx, o.count); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.site.Close()) }()
	receiver, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receiver.Close()) }()
	if err := registerChannels(ctx, o, monitor.CallbackURL(receiver.URL()), db.DSN); err != nil {
		return err
	}
	if r.gateway, err = system.Start(ctx, system.Config{
		Binary: binary, DataDir: filepath.Join(dir, "data"),
		Env: append(r.site.Env(), "DB_DSN="+db.DSN, "MAX_MONITORS=1000", "WORKER_RUNTIME=inline", "EVIDENCE_CAPTURE=off"),
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.gateway.Stop()) }()
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("%w; the gateway's log ends:\n%s", err, r.gateway.Tail(5))
	}
	return nil
}

// run waits until the gateway reads pages, lets streams appear, and says what became of them.
func (r *run) run(ctx context.Context) error {
	for until := time.Now().Add(r.interval()); r.site.readings().requests() == 0; {
		if time.Now().After(until) {
			return fmt.Errorf("no page was read within %s", r.interval())
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
	say("the gateway reads pages; streams appear for %s, seed %d", r.duration, r.seed)
	before := r.look()
	r.site.reset()
	r.plan = newPlan(r.options, time.Now(), r.site)
	end := time.Now().Add(r.duration)
	err := r.followUntil(ctx, end, func() bool { return false })
	took, read := r.look().since(before), r.site.readings()
	if err == nil {
		err = r.followUntil(ctx, end.Add(2*r.interval()+2*time.Minute), func() bool { return len(r.plan.unsettled()) == 0 })
	}
	fmt.Printf("%d channels, usual hours: %v, seed %d\n%s%s%s", r.count, r.usual, r.seed, read.text(r.duration), took.text(), r.plan.text())
	return errors.Join(err, r.plan.verdict())
}

// followUntil does what is due at YouTube and looks at what became of it, until an instant or until done says so.
func (r *run) followUntil(ctx context.Context, until time.Time, done func() bool) error {
	for said := time.Now(); time.Now().Before(until) && !done(); {
		r.plan.act(time.Now())
		if err := errors.Join(r.plan.observe(ctx, r.db), r.pause(ctx)); err != nil {
			return err
		}
		if time.Since(said) > progressInterval {
			said = time.Now()
			say("%d requests; %d of %d streams as they should be", r.site.readings().requests(), len(r.plan.streams)-len(r.plan.unsettled()), len(r.plan.streams))
		}
	}
	return nil
}

// pause waits until the next look. It fails if the gateway ends before.
func (r *run) pause(ctx context.Context) error {
	select {
	case <-r.gateway.Exited():
		return errors.New("the gateway has ended")
	default:
	}
	if !wait.For(ctx, pollInterval) {
		return ctx.Err()
	}
	return nil
}

// say prints progress.
func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// channelID returns the ID of channel n.
func channelID(n int) string { return fmt.Sprintf("UC%022d", n) }

// layoutOf returns the form of the page of channel n. Only that of odd ones says when a stream starts.
func layoutOf(n int) youtube.Layout {
	if n%2 == 1 {
		return youtube.Renderer
	}
	return youtube.Lockup
}
