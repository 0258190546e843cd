package process

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// foundWorker is a worker that runs and that an earlier gateway has started.
type foundWorker struct {
	record

	internalKey string // empty when its environment may not be read
}

// adoptRunning adopts the workers that an earlier gateway has started. It
// removes the files of all other workers.
func (l *Launcher) adoptRunning() error {
	records, recorded, err := l.dir.readRecords(l.log)
	if err != nil {
		return err
	}
	found, err := l.dir.findWorkers(records)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b foundWorker) int {
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
		l.keepNewest(runs)
	}
	return nil
}

// adopt takes a worker over. It returns false when the worker has ended.
func (l *Launcher) adopt(w foundWorker) bool {
	log := l.log.With("monitor_id", string(w.MonitorID), "generation", w.Generation, "pid", w.Process.PID)
	adopted, err := adoptProcess(*w.Process)
	if err != nil {
		if !errors.Is(err, os.ErrProcessDone) {
			log.Warn("a running worker cannot be adopted and is replaced", "error", err.Error())
		}
		return false
	}
	l.writeRecord(w.record)
	output, err := l.dir.reopenOutput(w.key())
	if err != nil {
		log.Warn("the output of an adopted worker cannot be read, its log lines are lost", "error", err.Error())
	}
	r := newRun(w.key(), w.Process.PID, adopted, output)
	r.started = w.Process.startTime()
	switch {
	case w.GatewayURL != l.cfg.GatewayURL:
		r.unusable = true
		log.Warn("a worker of an earlier gateway reports to another address and is ended, another one is launched", "gateway_url", w.GatewayURL)
	case w.internalKey != "" && w.internalKey != l.cfg.InternalKey:
		r.unusable = true
		log.Warn("a worker of an earlier gateway has another INTERNAL_API_KEY and is ended, another one is launched")
	default:
		log.Info("worker adopted")
	}
	l.supervise(r)
	return true
}

// keepNewest ends all workers of a monitor but the newest, and those that
// cannot report to this gateway.
func (l *Launcher) keepNewest(runs []*run) {
	for i, r := range runs {
		if i < len(runs)-1 && !r.unusable {
			r.unusable = true
			l.log.Warn("a worker of an older generation is ended", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid)
		}
		if r.unusable {
			r.requestQuickStop()
		}
	}
}

// current returns the newest worker of a monitor, nil when that is being
// replaced. The caller holds mu.
func (l *Launcher) current(id monitor.ID) *run {
	runs := l.runs[id]
	if len(runs) == 0 || runs[len(runs)-1].unusable {
		return nil
	}
	return runs[len(runs)-1]
}
