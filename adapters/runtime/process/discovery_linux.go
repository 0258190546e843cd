package process

import (
	"os"
	"strconv"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// findWorkers finds the running workers of this directory, by their records. A gateway that
// died may not have recorded a process that it had started. findWorkers recognizes such a
// worker by the mark in its arguments. A tool of a worker has its own mark in its environment,
// and does not lead a session. findWorkers kills tools whose worker has ended.
func (d *runDirectory) findWorkers(records []record) ([]record, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	var all []record
	known, recorded := map[int]bool{os.Getpid(): true}, map[workerKey]bool{}
	hashes := map[workerKey]string{}
	for _, r := range records {
		hashes[r.key()] = r.TokenHash
		if r.Process == nil || r.Process.Boot != boot {
			continue
		}
		pid := r.Process.PID
		if s, ok := readStat(pid); ok && !s.ended() && s.start == r.Process.Start {
			known[pid], recorded[r.key()] = true, true
			all = append(all, r)
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
			worker.TokenHash = hashes[worker.key()]
			all = append(all, worker)
		}
	}
	return all, nil
}

// recognizeWorker returns the worker that a process is according to its arguments, without the hash
// of its token. A tool that was taken over can copy them, but it stays confined.
func (d *runDirectory) recognizeWorker(p processIdentity) (record, bool) {
	if isConfined(p.PID) {
		return record{}, false
	}
	says := readArguments(p.PID)
	id, errID := monitor.ParseID(says[idVariable])
	generation, errNumber := strconv.Atoi(says[generationVariable])
	if says[markVariable] != d.mark() || errID != nil || errNumber != nil {
		return record{}, false
	}
	return record{id, generation, says[gatewayVariable], d.mark(), "", &p}, true
}

// killOrphanedTool kills a process if it is a tool whose worker died while no gateway ran.
// A tool has the mark of tools in its environment and is in the session of its worker.
func (d *runDirectory) killOrphanedTool(pid, session int) {
	killIf(pid, func(pid int) bool {
		if readEnviron(pid)[subprocess.ToolVariable] != subprocess.ToolMark(d.mark()) {
			return false
		}
		leader, ok := readStat(session)
		return !ok || leader.ended()
	})
}
