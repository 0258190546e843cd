package process

import (
	"os"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// findWorkers finds the running workers of this directory, by their records. A gateway that
// died may not have recorded a process that it had started. findWorkers recognizes such a
// worker by the mark in its environment. A tool of a worker has the same mark, but does
// not lead a session. findWorkers kills tools whose worker has ended.
func (d *runDirectory) findWorkers(records []record) ([]foundWorker, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	var all []foundWorker
	known, recorded := map[int]bool{os.Getpid(): true}, map[workerKey]bool{}
	for _, r := range records {
		if r.Process == nil || r.Process.Boot != boot {
			continue
		}
		pid := r.Process.PID
		if s, ok := readStat(pid); ok && !s.ended() && s.start == r.Process.Start {
			known[pid], recorded[r.key()] = true, true
			all = append(all, foundWorker{r, readEnviron(pid)[tokenVariable]})
		}
	}
	for _, pid := range listProcesses() {
		s, ok := readStat(pid)
		if !ok || s.ended() || known[pid] {
			continue
		}
		if s.session != pid {
			d.killOrphanedTool(pid, s.session)
		} else if worker, ok := d.recognizeWorker(processIdentity{pid, s.start, boot}); ok && !recorded[worker.key()] {
			all = append(all, worker)
		}
	}
	return all, nil
}

// recognizeWorker returns the worker that a process is according to its environment.
func (d *runDirectory) recognizeWorker(p processIdentity) (foundWorker, bool) {
	env := readEnviron(p.PID)
	id, errID := monitor.ParseID(env[idVariable])
	generation, errNumber := strconv.Atoi(env[generationVariable])
	if env[markVariable] != d.mark() || errID != nil || errNumber != nil {
		return foundWorker{}, false
	}
	return foundWorker{record{id, generation, env[gatewayVariable], d.mark(), &p}, env[tokenVariable]}, true
}

// killOrphanedTool kills a process if it is a tool whose worker died while no gateway ran.
// A tool has the mark in its environment and is in the session of its worker.
func (d *runDirectory) killOrphanedTool(pid, session int) {
	killIf(pid, func(pid int) bool {
		if readEnviron(pid)[markVariable] != d.mark() {
			return false
		}
		leader, ok := readStat(session)
		return !ok || leader.ended()
	})
}
