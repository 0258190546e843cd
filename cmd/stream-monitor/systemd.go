package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// readyInterval is the time between two looks at whether a gateway that starts is ready.
const readyInterval = time.Second

// systemdNotifier tells systemd how the gateway is (sd_notify(3)). Without NOTIFY_SOCKET it does
// nothing.
type systemdNotifier struct {
	ready, alive func(context.Context) error
	log          *slog.Logger
}

// run tells systemd once that the gateway is ready. Until ctx is done it then tells, three times in the time of the
// watchdog, that the gateway is alive. systemd ends and restarts one that says nothing.
func (n systemdNotifier) run(ctx context.Context) {
	for n.ready(ctx) != nil {
		if !wait.For(ctx, readyInterval) {
			return
		}
	}
	n.notify(daemon.SdNotifyReady)
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit <= 0 {
		return
	}
	for wait.For(ctx, limit/3) {
		if n.isAlive(ctx, limit/3) {
			n.notify(daemon.SdNotifyWatchdog)
		}
	}
}

func (n systemdNotifier) isAlive(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := n.alive(ctx)
	if err != nil {
		n.log.Error("the gateway hangs, systemd will restart it: report the goroutines that follow in the log", "error", err.Error())
	}
	return err == nil
}

func (n systemdNotifier) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("systemd cannot be told how the gateway is, and may end it: check NotifyAccess and RestrictAddressFamilies of the unit", "state", state, "error", err.Error())
	}
}
