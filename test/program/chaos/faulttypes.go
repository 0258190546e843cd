//go:build linux

package main

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// component is the part of the system that a fault affects.
type component string

const (
	gatewayComponent  component = "gateway"
	workerComponent   component = "worker"
	toolComponent     component = "tool"
	databaseComponent component = "database"
	reportComponent   component = "reports"
	receiverComponent component = "receiver"
	diskComponent     component = "disk"
	clockComponent    component = "clock"
	peopleComponent   component = "people" // their operations disturb nothing
)

// maxFaults bounds the faults of a seed by component. More would make the
// service give up, as the specification says. A monitor ends after more than
// five lost workers in ten minutes (decision O3), and after a webhook that
// fails four times in a row (W4).
var maxFaults = map[component]int{
	gatewayComponent: 3, workerComponent: 3, toolComponent: 3, databaseComponent: 2,
	reportComponent: 2, receiverComponent: 3, diskComponent: 2, clockComponent: 2,
}

// minGap is the least time between two faults of the same component. A failed
// webhook is tried again after 1, 3 and 7 s.
var minGap = map[component]time.Duration{
	gatewayComponent: 2 * time.Second, workerComponent: time.Second, toolComponent: 500 * time.Millisecond, databaseComponent: 2 * time.Second,
	reportComponent: 2 * time.Second, receiverComponent: 8 * time.Second, diskComponent: time.Second, clockComponent: time.Second,
}

// injectFunc injects a fault and returns when it is over and healed. It returns
// errNoTarget if there was nothing to affect.
type injectFunc func(context.Context, *environment, fault) error

// faultType is one kind of fault. inject injects it and returns when it is over
// and healed. inject returns an error if there was no target.
type faultType struct {
	name                     string
	component                component
	perMonitor               bool          // it affects the worker or tools of one monitor
	expiresURLs              bool          // it lets the media URLs expire, so that yt-dlp runs
	minDuration, maxDuration time.Duration // of the fault; 0: it is instantaneous
	extraWeight              int           // makes it more likely; 0: as likely as most
	inject                   injectFunc

	applies func(schedule) bool // nil: to every schedule
}

func (t *faultType) appliesTo(s schedule) bool { return t.applies == nil || t.applies(s) }

func hasExternalDatabase(s schedule) bool { return s.externalDatabase }
func runsWorkerProcesses(s schedule) bool { return s.runtime == "process" }
func mountsDisks(s schedule) bool         { return s.mountsDisks }
func fillsDatabaseDisk(s schedule) bool   { return s.mountsDisks && s.externalDatabase }

const ms = time.Millisecond

// Names of fault types that the checks refer to.
const (
	gatewayRestarted = "gateway restarted"
	databaseDiskFull = "database's disk full"
	allKilled        = "all killed at once"
	receiverSlow     = "receiver slow to respond"
)

// receiverDelay is how much later a slow receiver takes what was sent to it.
const receiverDelay = 2500 * time.Millisecond

// faultTypes lists every fault type. The order is part of what a seed decides:
// a change of it changes all schedules.
var faultTypes = []faultType{
	{name: "gateway killed", component: gatewayComponent, extraWeight: 3, inject: killGateway},
	{name: allKilled, component: gatewayComponent, inject: killAll},
	{name: gatewayRestarted, component: gatewayComponent, inject: restartGateway},
	{name: "gateway stopped", component: gatewayComponent, minDuration: 1000 * ms, maxDuration: 4000 * ms, inject: stopGateway},
	{name: "worker killed", component: workerComponent, perMonitor: true, extraWeight: 3, applies: runsWorkerProcesses, inject: killProcess(workerRole)},
	{name: "worker stopped", component: workerComponent, perMonitor: true, applies: runsWorkerProcesses, minDuration: 1000 * ms, maxDuration: 5000 * ms, inject: stopProcess(workerRole)},
	{name: "ffmpeg killed", component: toolComponent, perMonitor: true, inject: killProcess(ffmpegRole)},
	{name: "ffmpeg stopped", component: toolComponent, perMonitor: true, minDuration: 1000 * ms, maxDuration: 4000 * ms, inject: stopProcess(ffmpegRole)},
	{name: "yt-dlp killed", component: toolComponent, perMonitor: true, expiresURLs: true, inject: withExpiredURL(killProcess(ytdlpRole))},
	{name: "yt-dlp stopped", component: toolComponent, perMonitor: true, expiresURLs: true, minDuration: 1000 * ms, maxDuration: 4000 * ms, inject: withExpiredURL(stopProcess(ytdlpRole))},

	{name: "PostgreSQL killed", component: databaseComponent, extraWeight: 1, inject: killDatabase},
	{name: "PostgreSQL backend killed", component: databaseComponent, inject: killBackend},
	{name: "PostgreSQL stopped", component: databaseComponent, minDuration: 1000 * ms, maxDuration: 5000 * ms, inject: stopDatabase},
	{name: "PostgreSQL restarted", component: databaseComponent, applies: hasExternalDatabase, inject: restartDatabase},
	{name: "PostgreSQL down", component: databaseComponent, applies: hasExternalDatabase, minDuration: 2000 * ms, maxDuration: 7000 * ms, inject: keepDatabaseDown},

	{name: "database connections reset", component: databaseComponent, applies: hasExternalDatabase, minDuration: 500 * ms, maxDuration: 3000 * ms, inject: disturbLinks(toDatabase, resetConnections)},
	{name: "database connections hang", component: databaseComponent, applies: hasExternalDatabase, minDuration: 1000 * ms, maxDuration: 5000 * ms, inject: disturbLinks(toDatabase, dropData)},
	{name: "database slow to respond", component: databaseComponent, applies: hasExternalDatabase, minDuration: 2000 * ms, maxDuration: 5000 * ms, inject: disturbLinks(toDatabase, delayData)},
	{name: "database link with little bandwidth", component: databaseComponent, applies: hasExternalDatabase, minDuration: 2000 * ms, maxDuration: 5000 * ms, inject: disturbLinks(toDatabase, limitBandwidth)},

	{name: "reports reset", component: reportComponent, applies: runsWorkerProcesses, minDuration: 500 * ms, maxDuration: 4000 * ms, inject: disturbLinks(toGateways, resetConnections)},
	{name: "reports unanswered", component: reportComponent, extraWeight: 1, applies: runsWorkerProcesses, minDuration: 1000 * ms, maxDuration: 5000 * ms, inject: disturbLinks(toGateways, dropData)},
	{name: "reports slow", component: reportComponent, applies: runsWorkerProcesses, minDuration: 2000 * ms, maxDuration: 6000 * ms, inject: disturbLinks(toGateways, delayData)},
	{name: "report link with little bandwidth", component: reportComponent, applies: runsWorkerProcesses, minDuration: 2000 * ms, maxDuration: 6000 * ms, inject: disturbLinks(toGateways, limitBandwidth)},

	{name: "webhooks reset", component: receiverComponent, minDuration: 500 * ms, maxDuration: 2500 * ms, inject: disturbLinks(toReceivers, resetConnections)},
	{name: "webhooks unanswered", component: receiverComponent, minDuration: 1000 * ms, maxDuration: 4000 * ms, inject: disturbLinks(toReceivers, dropData)},
	{name: "webhooks slow", component: receiverComponent, minDuration: 2000 * ms, maxDuration: 5000 * ms, inject: disturbLinks(toReceivers, delayData)},
	{name: "receiver refuses connections", component: receiverComponent, minDuration: 500 * ms, maxDuration: 2500 * ms, inject: disturbLinks(toReceivers, refuseConnections)},
	{name: "receiver answers 500", component: receiverComponent, minDuration: 3000 * ms, maxDuration: 5000 * ms, inject: disturbReceiver(httpfault.Status(500), channel.Fault{Status: 500})},
	{name: "receiver accepts without a response", component: receiverComponent, minDuration: 3000 * ms, maxDuration: 5000 * ms, inject: disturbReceiver(acceptAndHangUp, channel.Fault{HangUp: true})},
	{name: receiverSlow, component: receiverComponent, minDuration: 3000 * ms, maxDuration: 6000 * ms, inject: disturbReceiver(httpfault.Delay(receiverDelay), channel.Fault{})},

	{name: "data directory full", component: diskComponent, minDuration: 2000 * ms, maxDuration: 6000 * ms, applies: mountsDisks, inject: fillData},
	{name: databaseDiskFull, component: diskComponent, applies: fillsDatabaseDisk, minDuration: 1500 * ms, maxDuration: 4000 * ms, inject: fillDatabase},

	{name: "gateway's clock an hour off", component: clockComponent, minDuration: 3000 * ms, maxDuration: 8000 * ms, inject: offsetGatewayClock},
	{name: "worker killed while the clock is an hour off", component: clockComponent, perMonitor: true, applies: runsWorkerProcesses, minDuration: 3000 * ms, maxDuration: 6000 * ms, inject: killWorkerWithClockOff},

	{name: "gateway killed as a webhook arrives", component: gatewayComponent, extraWeight: 1, minDuration: 6000 * ms, maxDuration: 9000 * ms, inject: onNextWebhook(killGateway, acceptWebhook)},
	{name: "PostgreSQL killed as a webhook arrives", component: databaseComponent, extraWeight: 1, minDuration: 6000 * ms, maxDuration: 9000 * ms, inject: onNextWebhook(killDatabase, acceptWebhook)},
}

// deliveryCrashes are the crash points of the second of two gateways: after an answer,
// before and after its record, and after a report is stored.
var deliveryCrashes = []string{"told", "store", "noted", "send", "mark"}

// crashPoints are the points at which a gateway can end itself, in the order in
// which a monitor reaches them.
var crashPoints = []struct {
	name      string
	maxPasses int           // the gateway ends at one of its first maxPasses passes
	maxDelay  time.Duration // how long after the pass it ends, at most
}{
	{"intent", 3, 0},
	{"record", 3, 30 * ms},
	{"launch", 3, 0},
	{"store", 10, 0},
	{"ack", 10, 8 * ms},
	{"send", 4, 0},
	{"mark", 4, 0},
	{"told", 8, 0},
	{"noted", 8, 0},
}
