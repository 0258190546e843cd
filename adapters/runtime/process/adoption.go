package process

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"slices"
)

// adoptRunning adopts the running workers of an earlier gateway. It removes the files of
// all other workers.
func (l *Launcher) adoptRunning() error {
	records, recorded, err := l.dir.readRecords(l.log)
	if err != nil {
		return err
	}
	found, err := l.dir.findWorkers(records)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Process.Start, b.Process.Start))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[workerKey]bool{}
	for _, w := range found {
		if l.adopt(w) {
			kept[w.key()] = true
		}
	}
	for _, key := range recorded {
		if !kept[key] {
			l.dir.remove(key)
		}
	}
	for _, runs := range l.runs {
		keepNewest(runs, l.log)
	}
	return nil
}

// adopt makes a found worker one of this launcher's. It returns false if the worker has
// ended, or cannot be adopted.
func (l *Launcher) adopt(w record) bool {
	log := l.log.With("monitor_id", string(w.MonitorID), "generation", w.Generation, "pid", w.Process.PID)
	adopted, err := adoptProcess(*w.Process)
	if err != nil {
		if !errors.Is(err, os.ErrProcessDone) {
			log.Warn("a running worker cannot be adopted; the gateway launches another one", "error", err.Error())
		}
		return false
	}
	l.writeRecord(w)
	output, err := l.dir.reopenOutput(w.key())
	if err != nil {
		log.Warn("the output of an adopted worker cannot be read; its log lines are lost", "error", err.Error())
	}
	r := newRun(w.key(), w.Process.PID, adopted, output)
	r.started = w.Process.startTime()
	switch {
	case w.GatewayURL != l.cfg.GatewayURL:
		r.unusable = true
		log.Warn("a worker of an earlier gateway reports to another address; this gateway ends it and launches another one", "gateway_url", w.GatewayURL)
	case w.TokenHash != "" && w.TokenHash != tokenHash(l.cfg.Tokens.Token(w.MonitorID, w.Generation)):
		r.unusable = true
		log.Warn("a worker of an earlier gateway has no token of the present INTERNAL_API_KEY; this gateway ends it and launches another one")
	default:
		log.Info("worker adopted")
	}
	l.supervise(r)
	return true
}

// keepNewest asks all workers of a monitor except the newest to end, and those that cannot
// report to this gateway.
func keepNewest(runs []*run, log *slog.Logger) {
	for i, r := range runs {
		if i < len(runs)-1 && !r.unusable {
			r.unusable = true
			log.Warn("a worker of an older generation still runs; this gateway ends it", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid)
		}
		if r.unusable {
			r.requestQuickStop()
		}
	}
}

// newestUsable returns the newest of a monitor's workers, or nil if this gateway is
// ending that one.
func newestUsable(runs []*run) *run {
	if len(runs) == 0 || runs[len(runs)-1].unusable {
		return nil
	}
	return runs[len(runs)-1]
}
