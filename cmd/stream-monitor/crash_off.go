//go:build !faults

package main

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// parts is what the gateway is wired from where a fault can be put in between.
type parts struct {
	Roster   supervisor.Store
	Launcher supervisor.Launcher
	Store    registry.Store
	Outbox   delivery.Outbox
	Sender   delivery.Sender
	Now      func() time.Time
}

// tamper is where the build for the fault matrix dies at chosen points and has
// its clock stepped. Here it does nothing.
func tamper(p parts) parts { return p }
