package process

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// survivor is a worker that has outlived its gateway.
type survivor struct {
	record

	key string // by which it reports; empty when that is not for us to see
}

// adoptAll finds the workers that have outlived an earlier gateway and makes
// them this one's. What else the directory has of workers is removed.
func (l *Launcher) adoptAll() error {
	records, seen, err := l.dir.survey(l.log)
	if err != nil {
		return err
	}
	found, err := l.dir.survivors(records)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b survivor) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Process.Start, b.Process.Start))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[assignment]bool{}
	for _, s := range found {
		if l.adopt(s) {
			kept[s.assignment()] = true
		}
	}
	for _, a := range seen {
		if !kept[a] {
			l.dir.forget(a)
		}
	}
	for _, of := range l.runs {
		l.choose(of)
	}
	return nil
}

// adopt makes a worker this launcher's, if it is still there.
func (l *Launcher) adopt(s survivor) bool {
	log := l.log.With("monitor_id", string(s.MonitorID), "generation", s.Generation, "pid", s.Process.PID)
	body, err := adopt(*s.Process)
	if err != nil {
		if !errors.Is(err, os.ErrProcessDone) {
			log.Warn("a worker that runs cannot be adopted", "error", err.Error())
		}
		return false
	}
	l.note(s.record)
	output, err := l.dir.reopenOutput(s.assignment())
	if err != nil {
		log.Warn("what an adopted worker prints cannot be read", "error", err.Error())
	}
	r := newRun(s.assignment(), s.Process.PID, body, output)
	r.started = s.Process.started()
	switch {
	case s.GatewayURL != l.cfg.GatewayURL:
		r.useless = true
		log.Warn("a worker of an earlier gateway reports to another address and is ended", "gateway_url", s.GatewayURL)
	case s.key != "" && s.key != l.cfg.InternalKey:
		r.useless = true
		log.Warn("a worker of an earlier gateway has another internal key and is ended")
	default:
		log.Info("worker adopted")
	}
	l.own(r)
	return true
}

// choose keeps the newest of a monitor's workers and ends the others, and those
// that are of no use.
func (l *Launcher) choose(of []*run) {
	for i, r := range of {
		if i < len(of)-1 && !r.useless {
			r.useless = true
			l.log.Warn("a worker of an older generation is ended", "monitor_id", string(r.id), "generation", r.generation, "pid", r.pid)
		}
		if r.useless {
			r.askToYield()
		}
	}
}

// current is the worker of a monitor that counts: the newest. The caller holds
// mu.
func (l *Launcher) current(id monitor.ID) *run {
	of := l.runs[id]
	if len(of) == 0 || of[len(of)-1].useless {
		return nil
	}
	return of[len(of)-1]
}
