package process

import (
	"os"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// survivors finds the workers from this directory that are alive: those that
// are on record, and those whose gateway has died before it could put them
// there, which carry the directory's mark in their environment. So does what a
// worker on record has started in a session of its own, which is no worker. What
// is left of others it ends.
func (d *directory) survivors(records []record) ([]survivor, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	var all []survivor
	known, recorded := map[int]bool{os.Getpid(): true}, map[assignment]bool{}
	for _, r := range records {
		if r.Process == nil || r.Process.Boot != boot {
			continue
		}
		pid := r.Process.PID
		if s, ok := readStat(pid); ok && !s.over() && s.start == r.Process.Start {
			known[pid], recorded[r.assignment()] = true, true
			all = append(all, survivor{r, readEnviron(pid)[keyVariable]})
		}
	}
	for _, pid := range processes() {
		s, ok := readStat(pid)
		if !ok || s.over() || known[pid] {
			continue
		}
		if s.session != pid {
			d.endOrphan(pid, s.session)
		} else if worker, ok := d.recognize(identity{pid, s.start, boot}); ok && !recorded[worker.assignment()] {
			all = append(all, worker)
		}
	}
	return all, nil
}

// recognize tells a worker by its environment.
func (d *directory) recognize(who identity) (survivor, bool) {
	env := readEnviron(who.PID)
	id, errID := monitor.ParseID(env[idVariable])
	generation, errNumber := strconv.Atoi(env[generationVariable])
	if env[placeVariable] != d.mark() || errID != nil || errNumber != nil {
		return survivor{}, false
	}
	return survivor{record{id, generation, env[gatewayVariable], d.mark(), &who}, env[keyVariable]}, true
}

// endOrphan ends a tool whose worker has died while there was no gateway. Tools
// carry the mark, too, and are in their worker's session, but do not lead it.
func (d *directory) endOrphan(pid, session int) {
	kill(pid, func(pid int) bool {
		if readEnviron(pid)[placeVariable] != d.mark() {
			return false
		}
		leader, ok := readStat(session)
		return !ok || leader.over()
	})
}
