//go:build !faults

package main

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
	"github.com/stream-monitor/stream-monitor/application/supervise"
)

// parts is what the gateway is wired from where a fault can be put in between.
type parts struct {
	Roster   supervise.Roster
	Launcher supervise.Launcher
	Store    control.Store
	Outbox   deliver.Outbox
	Sender   deliver.Sender
	Now      func() time.Time
}

// tamper is where the build for the fault matrix dies at chosen points and has
// its clock stepped. Here it does nothing.
func tamper(p parts) parts { return p }
