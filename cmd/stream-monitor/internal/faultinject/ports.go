// Package faultinject lets the fault matrix (test/program/chaos) kill the gateway
// at chosen points and step its clock. It does so only in a build with the tag
// faults; in every other build Wrap changes nothing.
package faultinject

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Ports are the ports of the gateway at which a fault can be injected.
type Ports struct {
	SupervisorStore supervisor.Store
	Launcher        supervisor.Launcher
	RegistryStore   registry.Store
	Outbox          delivery.Outbox
	Sender          delivery.Sender
	Now             func() time.Time
}
