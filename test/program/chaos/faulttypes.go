//go:build linux

package main

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// component is the part of the system that faults affect. It bounds them within a seed: more would
// make the service give up, as the specification says. A monitor ends after more than five lost
// workers in ten minutes (decision O3), and after a webhook that fails four times in a row (W4),
// which is tried again after 1, 3 and 7 s. A worker delays a second renewal of its URLs.
type component struct {
	faults        int
	gap           time.Duration // the least one between two faults
	perMonitor    bool          // they affect the worker or the tools of one monitor
	losesOutcomes bool          // the answer to a delivery may be lost, or the record of it
	lingers       time.Duration // how long their effect lasts: what was sent slowly arrives, a renewal is tried again
	atEnd         bool          // they have something to affect after the streams have ended
}

var (
	gateways  = &component{faults: 3, gap: 2 * time.Second, losesOutcomes: true, atEnd: true}
	worker    = &component{faults: 3, gap: time.Second, perMonitor: true}
	decoder   = &component{faults: 2, gap: time.Second, perMonitor: true}
	resolver  = &component{faults: 1, perMonitor: true, lingers: 10 * time.Second}
	database  = &component{faults: 2, gap: 2 * time.Second, losesOutcomes: true, atEnd: true}
	reports   = &component{faults: 2, gap: 2 * time.Second, atEnd: true}
	receivers = &component{faults: 3, gap: 8 * time.Second, losesOutcomes: true, lingers: receiverDelay, atEnd: true}
	disks     = &component{faults: 2, gap: time.Second, losesOutcomes: true, atEnd: true}
	clocks    = &component{faults: 2, gap: time.Second}
)

// injectFunc injects a fault and returns when it is over and healed. It returns
// errNoTarget if there was nothing to affect.
type injectFunc func(context.Context, *environment, fault) error

// seconds is a range of durations.
type seconds struct{ least, most float64 }

// faultType is one kind of fault.
type faultType struct {
	name          string
	component     *component
	lasts         seconds             // {0, 0}: it is instantaneous
	applies       func(schedule) bool // nil: to every schedule
	keepsOutcomes bool                // unlike others of its component
	inject        injectFunc
}

func (t *faultType) losesOutcomes() bool {
	return t.component.losesOutcomes && !t.keepsOutcomes
}

func (t *faultType) appliesTo(s schedule) bool { return t.applies == nil || t.applies(s) }

func hasExternalDatabase(s schedule) bool { return s.externalDatabase }
func runsWorkerProcesses(s schedule) bool { return s.runtime == "process" }
func mountsDisks(s schedule) bool         { return s.mountsDisks }
func hasDataDisk(s schedule) bool         { return s.mountsDisks && s.externalDatabase } // without the database

// receiverDelay is how much later a slow receiver takes what was sent to it.
const receiverDelay = 2500 * time.Millisecond

// faultTypes lists every fault type. The order is part of what a seed decides:
// a change of it changes all schedules.
var faultTypes = []faultType{
	{name: "gateway killed", component: gateways, inject: killGateway},
	{name: "all killed at once", component: gateways, inject: killAll},
	{name: "gateway stopped", component: gateways, lasts: seconds{1, 4}, inject: stopGateway},
	{name: "gateway restarted", component: gateways, keepsOutcomes: true, inject: restartGateway},
	{name: "worker killed", component: worker, applies: runsWorkerProcesses, inject: onProcesses(of("worker"), kill)},
	{name: "worker stopped", component: worker, lasts: seconds{1, 5}, applies: runsWorkerProcesses, inject: onProcesses(of("worker"), stop)},
	{name: "decoder killed", component: decoder, inject: onProcesses(of("decoder"), kill)},
	{name: "decoder stopped", component: decoder, lasts: seconds{1, 4}, inject: onProcesses(of("decoder"), stop)},
	{name: "yt-dlp killed", component: resolver, inject: withExpiredURL(onProcesses(of("resolver"), kill))},
	{name: "yt-dlp stopped", component: resolver, lasts: seconds{1, 4}, inject: withExpiredURL(onProcesses(of("resolver"), stop))},
	{name: "PostgreSQL killed", component: database, inject: onProcesses(ofDatabase, kill)},
	{name: "PostgreSQL backend killed", component: database, inject: onProcesses(ofDatabase, killBackend)},
	{name: "PostgreSQL stopped", component: database, lasts: seconds{1, 5}, inject: onProcesses(ofDatabase, stop)},
	{name: "PostgreSQL restarted", component: database, lasts: seconds{0, 7}, applies: hasExternalDatabase, inject: restartDatabase},
	{name: "database connections reset", component: database, lasts: seconds{0.5, 3}, applies: hasExternalDatabase, inject: disturbLinks(toDatabase, resetting)},
	{name: "database connections hang", component: database, lasts: seconds{1, 5}, applies: hasExternalDatabase, inject: disturbLinks(toDatabase, silent)},
	{name: "database slow to respond", component: database, lasts: seconds{2, 5}, applies: hasExternalDatabase, inject: disturbLinks(toDatabase, slow)},
	{name: "reports reset", component: reports, lasts: seconds{0.5, 4}, applies: runsWorkerProcesses, inject: disturbLinks(toGateways, resetting)},
	{name: "reports unanswered", component: reports, lasts: seconds{1, 5}, applies: runsWorkerProcesses, inject: disturbLinks(toGateways, silent)},
	{name: "reports slow", component: reports, lasts: seconds{2, 6}, applies: runsWorkerProcesses, inject: disturbLinks(toGateways, slow)},
	{name: "webhooks reset", component: receivers, lasts: seconds{0.5, 2.5}, inject: disturbLinks(toReceivers, resetting)},
	{name: "webhooks unanswered", component: receivers, lasts: seconds{1, 4}, inject: disturbLinks(toReceivers, silent)},
	{name: "webhooks slow", component: receivers, lasts: seconds{2, 5}, inject: disturbLinks(toReceivers, slow)},
	{name: "receiver answers 500", component: receivers, lasts: seconds{3, 5}, inject: disturbReceivers(httpfault.Status(500))},
	{name: "receiver accepts without a response", component: receivers, lasts: seconds{3, 5}, inject: disturbReceivers(acceptAndHangUp)},
	{name: "receiver slow to respond", component: receivers, lasts: seconds{3, 6}, inject: disturbReceivers(httpfault.Delay(receiverDelay))},
	{name: "data directory full", component: disks, lasts: seconds{2, 6}, applies: hasDataDisk, keepsOutcomes: true, inject: fillDisk(dataDir)},
	{name: "database's disk full", component: disks, lasts: seconds{1.5, 4}, applies: mountsDisks, inject: fillDisk(databaseDir)},
	{name: "clock an hour off", component: clocks, lasts: seconds{3, 8}, inject: withClockOff(nothing)},
	{name: "worker killed while the clock is an hour off", component: clocks, lasts: seconds{3, 6}, applies: runsWorkerProcesses, inject: withClockOff(onProcesses(of("worker"), kill))},
}

// crashPoints are the points at which a gateway can end itself, in the order in which a monitor
// reaches them. From deliveryPoint on it is a delivery that does.
var crashPoints = []string{"intent", "record", "launch", "store", "ack", "send", "mark", "told", "noted"}

const deliveryPoint = 5
