// Package faultinject lets test/program/chaos kill the gateway at chosen points and step
// its clock. A build with the tag faults can do this; in every other build Wrap returns
// its ports unchanged.
package faultinject

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Ports are the ports of the gateway at which a fault can be injected.
type Ports struct {
	SupervisorStore supervisor.Store
	Launcher        supervisor.Launcher
	MonitorStore    MonitorStore
	Outbox          delivery.Outbox
	Webhooks        delivery.WebhookSender
	Messages        map[notify.Kind]message.Sender
	Now             func() time.Time
}

// MonitorStore stores what callers ask for and what workers report.
type MonitorStore interface {
	monitors.Store
	intake.ReportStore
}
