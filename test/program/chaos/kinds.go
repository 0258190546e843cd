//go:build linux

package main

import (
	"context"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// subject is what a fault strikes.
type subject string

const (
	gatewaySubject  subject = "gateway"
	workerSubject   subject = "worker"
	toolSubject     subject = "tool"
	databaseSubject subject = "database"
	internalSubject subject = "way of reports"
	receiverSubject subject = "receiver"
	diskSubject     subject = "disk"
	clockSubject    subject = "clock"
)

// mostOf bounds what a seed does to one subject. A monitor that loses its
// worker more than five times in ten minutes is given up (decision O3), and a
// webhook that fails four times in a row ends its monitor (W4): both are right,
// and not what is asked here.
var mostOf = map[subject]int{
	gatewaySubject: 3, workerSubject: 3, toolSubject: 3, databaseSubject: 2,
	internalSubject: 2, receiverSubject: 3, diskSubject: 2, clockSubject: 2,
}

// apart is the least time between two faults of the same subject. A webhook
// that fails is tried again after 1, 3 and 7 s.
var apart = map[subject]time.Duration{
	gatewaySubject: 2 * time.Second, workerSubject: time.Second, toolSubject: 500 * time.Millisecond, databaseSubject: 2 * time.Second,
	internalSubject: 2 * time.Second, receiverSubject: 8 * time.Second, diskSubject: time.Second, clockSubject: time.Second,
}

// kind is one way in which things break. strike does it, and returns when it is
// over and healed; its error says that there was nothing to strike.
type kind struct {
	name        string
	subject     subject
	personal    bool          // it strikes one monitor's worker or tools
	expires     bool          // it lets the URLs of the media expire, so that yt-dlp runs
	least, most time.Duration // how long it lasts; 0: it is an instant
	often       int           // how many more times than others it is drawn
	strike      func(context.Context, *site, strike) error

	suits     func(plan) bool    // nil: any plan
	needs     func(ability) bool // of the machine; nil: nothing
	otherwise func() *kind       // what takes its place where that is missing
}

func external(p plan) bool   { return p.external }
func processes(p plan) bool  { return p.runtime == "process" }
func disks(a ability) bool   { return a.disks }
func libtime(a ability) bool { return a.libtime }

// named is a kind by its name, for those that take another's place.
func named(name string) func() *kind {
	return func() *kind {
		for i := range kinds {
			if kinds[i].name == name {
				return &kinds[i]
			}
		}
		panic("no kind of fault is called " + name)
	}
}

const ms = time.Millisecond

// Names that are more than names.
const (
	restarted    = "gateway restarted in good order"
	databaseFull = "database's disk full"
	powerCut     = "all killed at once"
)

// kinds is all of them.
var kinds []kind

func init() { //nolint:gochecknoinits // the table's functions look things up in the table
	kinds = []kind{
		{name: "gateway killed", subject: gatewaySubject, often: 3, strike: killGateway},
		{name: "gateway and a worker killed", subject: gatewaySubject, personal: true, suits: processes, strike: killPair},
		{name: powerCut, subject: gatewaySubject, strike: killAll},
		{name: restarted, subject: gatewaySubject, strike: restartGateway},
		{name: "gateway stopped", subject: gatewaySubject, least: 1000 * ms, most: 4000 * ms, strike: stopGateway},
		{name: "worker killed", subject: workerSubject, personal: true, often: 3, suits: processes, strike: killOne(workerRole)},
		{name: "worker stopped", subject: workerSubject, personal: true, suits: processes, least: 1000 * ms, most: 5000 * ms, strike: stopOne(workerRole)},
		{name: "ffmpeg killed", subject: toolSubject, personal: true, strike: killOne(ffmpegRole)},
		{name: "ffmpeg stopped", subject: toolSubject, personal: true, least: 1000 * ms, most: 4000 * ms, strike: stopOne(ffmpegRole)},
		{name: "yt-dlp killed", subject: toolSubject, personal: true, expires: true, strike: expired(killOne(ytdlpRole))},
		{name: "yt-dlp stopped", subject: toolSubject, personal: true, expires: true, least: 1000 * ms, most: 4000 * ms, strike: expired(stopOne(ytdlpRole))},

		{name: "PostgreSQL killed", subject: databaseSubject, often: 1, strike: killDatabase},
		{name: "PostgreSQL backend killed", subject: databaseSubject, strike: killBackend},
		{name: "PostgreSQL stopped", subject: databaseSubject, least: 1000 * ms, most: 5000 * ms, strike: stopDatabase},
		{name: "PostgreSQL restarted", subject: databaseSubject, suits: external, strike: restartDatabase},
		{name: "PostgreSQL away", subject: databaseSubject, suits: external, least: 2000 * ms, most: 7000 * ms, strike: leaveDatabase},

		{name: "database connections reset", subject: databaseSubject, suits: external, least: 500 * ms, most: 3000 * ms, strike: cut(toDatabase, "reset_peer")},
		{name: "database connections dead", subject: databaseSubject, suits: external, least: 1000 * ms, most: 5000 * ms, strike: cut(toDatabase, "timeout")},
		{name: "database slow to answer", subject: databaseSubject, suits: external, least: 2000 * ms, most: 5000 * ms, strike: cut(toDatabase, "latency")},
		{name: "database on a thin line", subject: databaseSubject, suits: external, least: 2000 * ms, most: 5000 * ms, strike: cut(toDatabase, "bandwidth")},

		{name: "reports reset", subject: internalSubject, suits: processes, least: 500 * ms, most: 4000 * ms, strike: cut(toGateway, "reset_peer")},
		{name: "reports unanswered", subject: internalSubject, suits: processes, least: 1000 * ms, most: 5000 * ms, strike: cut(toGateway, "timeout")},
		{name: "reports slow", subject: internalSubject, suits: processes, least: 2000 * ms, most: 6000 * ms, strike: cut(toGateway, "latency")},
		{name: "reports on a thin line", subject: internalSubject, suits: processes, least: 2000 * ms, most: 6000 * ms, strike: cut(toGateway, "bandwidth")},

		{name: "webhooks reset", subject: receiverSubject, least: 500 * ms, most: 2500 * ms, strike: cut(toReceiver, "reset_peer")},
		{name: "webhooks unanswered", subject: receiverSubject, least: 1000 * ms, most: 4000 * ms, strike: cut(toReceiver, "timeout")},
		{name: "webhooks slow", subject: receiverSubject, least: 2000 * ms, most: 5000 * ms, strike: cut(toReceiver, "latency")},
		{name: "receiver refuses connections", subject: receiverSubject, least: 500 * ms, most: 2500 * ms, strike: cut(toReceiver, refusing)},
		{name: "receiver answers 500", subject: receiverSubject, least: 3000 * ms, most: 5000 * ms, strike: misbehave(httpfault.Status(500))},
		{name: "receiver hangs up after taking it", subject: receiverSubject, least: 3000 * ms, most: 5000 * ms, strike: misbehave(takeAndHangUp)},
		{name: "receiver slow to answer", subject: receiverSubject, least: 3000 * ms, most: 6000 * ms, strike: misbehave(httpfault.Delay(2500 * ms))},

		{name: "data directory full", subject: diskSubject, least: 2000 * ms, most: 6000 * ms, strike: fillData, needs: disks, otherwise: named("gateway killed")},
		{name: databaseFull, subject: diskSubject, suits: external, least: 1500 * ms, most: 4000 * ms, strike: fillDatabase, needs: disks, otherwise: named("PostgreSQL killed")},

		{name: "gateway's clock an hour off", subject: clockSubject, least: 3000 * ms, most: 8000 * ms, strike: stepGateway},
		{name: "worker killed while the clock is an hour off", subject: clockSubject, personal: true, suits: processes, least: 3000 * ms, most: 6000 * ms, strike: killOffTime},
		{name: "PostgreSQL's clock an hour off", subject: clockSubject, suits: external, least: 3000 * ms, most: 8000 * ms, strike: stepDatabase, needs: libtime, otherwise: named("PostgreSQL away")},
		{name: "receiver answers 500 while PostgreSQL's clock is an hour off", subject: clockSubject, suits: external, least: 6000 * ms, most: 9000 * ms, strike: stepped(asAWebhookArrives(nothing, httpfault.Status(500))), needs: libtime, otherwise: named("receiver answers 500")},
		{name: "gateway killed as a webhook arrives while PostgreSQL's clock is an hour off", subject: clockSubject, suits: external, least: 6000 * ms, most: 9000 * ms, strike: stepped(asAWebhookArrives(killGateway, takeIt)), needs: libtime, otherwise: named("gateway killed")},

		{name: "gateway killed as a webhook arrives", subject: gatewaySubject, often: 1, least: 6000 * ms, most: 9000 * ms, strike: asAWebhookArrives(killGateway, takeIt)},
		{name: "PostgreSQL killed as a webhook arrives", subject: databaseSubject, often: 1, least: 6000 * ms, most: 9000 * ms, strike: asAWebhookArrives(killDatabase, takeIt)},
	}
}

// offFromTheStart steps the clock back to the right time; it is drawn by no dice.
var offFromTheStart = kind{
	name: "gateway's clock an hour off from its start", subject: clockSubject, least: 6000 * ms, most: 6000 * ms, strike: stepGateway,
}

// points are the places at which a gateway can be told to die, in the order in
// which a monitor meets them.
var points = []struct {
	name  string
	most  int           // times that it may be passed before
	delay time.Duration // at most this much after it
}{
	{"intent", 3, 0},
	{"record", 3, 30 * ms},
	{"launch", 3, 0},
	{"store", 10, 0},
	{"ack", 10, 8 * ms},
	{"send", 4, 0},
	{"mark", 4, 0},
}

// runtimes are what runs the workers, in turn.
var runtimes = []string{"process", "process", "inline"}

// explains tells whether a fault can have a webhook delivered twice: its answer,
// or what is kept of it, does not get where it should.
func (b *books) explains(i injection) bool {
	switch i.subject {
	case databaseSubject, receiverSubject:
		return true
	case gatewaySubject:
		return i.name != restarted // in good order
	case diskSubject:
		return i.name == databaseFull || !b.plan.external
	}
	return false
}

// The signals that faults are made of.
var stopSignal, goSignal, killSignal = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGKILL
