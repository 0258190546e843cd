package notify_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// world has one monitor with its newest incident, and its destinations. Time
// moves from one thing that is due to the next.
type world struct {
	t       failer
	now     time.Time
	tracker *incident.Tracker
	routing notify.Routing // its silences
	all     []*destined
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// destined is a destination with its threads, one for each incident, as an outbox keeps them.
type destined struct {
	name    string
	plan    notify.ThreadPolicy
	down    func(time.Time) bool // the destination is; nil: never
	threads []*thread
	sent    []message
}

type thread struct {
	about *incident.Incident
	told  notify.Notified
	due   time.Time // zero: nothing is
}

type message struct {
	at       time.Time
	step     notify.NextMessage
	incident *incident.Incident
	about    notify.Situation
}

// edits and writes are a channel that edits and one that does not.
func edits() *destined  { return &destined{name: "edits", plan: notify.ThreadPolicy{Edits: true}} }
func writes() *destined { return &destined{name: "writes"} }

func (d *destined) delayed(by time.Duration) *destined     { d.plan.Delay = by; return d }
func (d *destined) repeated(every time.Duration) *destined { d.plan.Repeat = every; return d }
func (d *destined) awaits(picture time.Duration) *destined { d.plan.PictureWait = picture; return d }

func newWorld(t failer, all ...*destined) *world {
	return &world{t: t, now: eight, tracker: incident.NewTracker(nil), all: all}
}

// at lets time pass until sec, and takes in inputs then.
func (w *world) at(sec float64, inputs ...incident.Input) *world {
	w.t.Helper()
	w.pass(at(sec))
	for _, in := range inputs {
		w.step(in)
	}
	return w
}

func (w *world) step(in incident.Input) {
	w.t.Helper()
	for _, c := range w.tracker.Step(w.now, in) {
		for _, d := range w.all {
			d.thread(c.Incident).due = w.now
		}
	}
	w.deliver()
}

// thread returns the thread of an incident, made if needed.
func (d *destined) thread(i *incident.Incident) *thread {
	for _, th := range d.threads {
		if th.about == i {
			return th
		}
	}
	th := &thread{about: i}
	d.threads = append(d.threads, th)
	return th
}

// silence adds a silence now.
func (w *world) silence(s notify.Silence) {
	w.t.Helper()
	w.routing.Silences = append(w.routing.Silences, s)
	for _, d := range w.all {
		for _, th := range d.threads {
			th.due = w.now
		}
	}
	w.deliver()
}

// pass lets time pass, with what is due on the way.
func (w *world) pass(until time.Time) {
	w.t.Helper()
	for range 10000 {
		next := until
		var tick bool
		if i := w.tracker.Newest(); i != nil {
			if due := i.DueAt(); !due.IsZero() && !due.After(next) {
				next, tick = due, true
			}
		}
		for _, d := range w.all {
			for _, th := range d.threads {
				if !th.due.IsZero() && th.due.Before(next) {
					next, tick = th.due, false
				}
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		if tick {
			w.step(incident.Tick{})
			continue
		}
		w.deliver()
		if !w.now.Before(until) {
			return
		}
	}
	w.t.Fatalf("at %v something is always due", w.now)
}

// deliver sends what is due now.
func (w *world) deliver() {
	w.t.Helper()
	for _, d := range w.all {
		for _, th := range d.threads {
			if !th.due.IsZero() && !th.due.After(w.now) {
				w.deliverTo(d, th)
			}
		}
	}
}

func (w *world) deliverTo(d *destined, th *thread) {
	w.t.Helper()
	s, p := notify.SituationOf(*th.about), d.plan
	p.SilencedUntil = w.routing.SilencedUntil(notify.StreamIncident{Incident: *th.about, MonitorID: someMonitor}.Subject(), w.now)
	step := notify.Next(w.now, s, th.told, p)
	if step.Kind != "" {
		if d.down != nil && d.down(w.now) {
			th.due = w.now.Add(10 * time.Second)
			return
		}
		d.sent = append(d.sent, message{w.now, step, th.about, s})
		th.told = th.told.After(s, step, w.now, "ref")
		step = notify.Next(w.now, s, th.told, p)
	}
	if step.Kind != "" || !step.At.IsZero() && !step.At.After(w.now) {
		w.t.Fatalf("%s: at %v s all was sent, and at once there is %+v", d.name, w.now.Sub(eight).Seconds(), step)
	}
	th.due = step.At
}

// expect checks what each destination was sent so far: the second and the kind of each message,
// with ! if it made a sound.
func (w *world) expect(want map[string]string) {
	w.t.Helper()
	for _, d := range w.all {
		var got []string
		for _, m := range d.sent {
			sound := ""
			if m.step.Push {
				sound = "!"
			}
			got = append(got, fmt.Sprintf("%.0f %s%s", m.at.Sub(eight).Seconds(), m.step.Kind, sound))
		}
		if text := strings.Join(got, ", "); text != want[d.name] {
			w.t.Errorf("%s got\n%s, want\n%s", d.name, text, want[d.name])
		}
	}
}

// began is an episode that is detected at its onset.
func began(name incident.Name, sec float64) incident.Began {
	return incident.Began{Condition: name, StartedAt: at(sec), At: at(sec)}
}

func ended(name incident.Name, sec float64) incident.Ended {
	return incident.Ended{Condition: name, EndedAt: at(sec)}
}
