package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The files of each worker in the run directory.
//
//	MONITOR.GENERATION.json  its record
//	MONITOR.GENERATION.log   the FIFO that it prints to
const (
	recordSuffix = ".json"
	outputSuffix = ".log"
)

// runDirectory is the run directory that this launcher holds.
type runDirectory struct{ *workerlist.Dir }

// runtime identifies the run directory. The next launcher on the same directory has the
// same runtime ID, so the supervisor finds missing workers at once.
func (d *runDirectory) runtime() supervisor.Runtime {
	return supervisor.Runtime{ID: d.ID.String(), NotFoundMessage: "Worker process not found on this machine"}
}

// mark identifies this directory in the arguments of its workers, and by its ToolMark in the environment of
// their tools. It contains the ID and the path: a copied directory has the same ID, and many
// containers have the same path.
func (d *runDirectory) mark() string { return d.ID.String() + " " + d.Path }

// workerKey identifies a worker; at most one process has it.
type workerKey struct {
	id         monitor.ID
	generation int
}

// fileStem returns the beginning of the names of the worker's files.
func (a workerKey) fileStem() string { return string(a.id) + "." + strconv.Itoa(a.generation) }

// parseName reads the name of a worker's file.
func parseName(name string) (a workerKey, suffix string, ok bool) {
	part := strings.Split(name, ".")
	if len(part) != 3 {
		return a, "", false
	}
	id, err := monitor.ParseID(part[0])
	generation, errNumber := strconv.Atoi(part[1])
	a, suffix = workerKey{id, generation}, "."+part[2]
	known := suffix == recordSuffix || suffix == outputSuffix
	return a, suffix, known && err == nil && errNumber == nil && name == a.fileStem()+suffix
}

// remove deletes a worker's files.
func (d *runDirectory) remove(a workerKey) {
	for _, suffix := range []string{recordSuffix, outputSuffix} {
		_ = os.Remove(filepath.Join(d.Path, a.fileStem()+suffix))
	}
}

// record is the entry of a worker in the run directory. The launcher writes it before the
// worker starts, without a process, and again when the worker has started.
type record struct {
	MonitorID  monitor.ID       `json:"monitor_id"`
	Generation int              `json:"generation"`
	GatewayURL string           `json:"gateway_url"`
	Mark       string           `json:"mark"`                 // of the directory that it was written for; the directory may be a copy
	TokenHash  string           `json:"token_hash,omitempty"` // tokenHash of its token; empty: unknown
	Process    *processIdentity `json:"process,omitempty"`
}

// processIdentity identifies a process even if another process gets its ID later.
type processIdentity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // since boot, in ticks of 10 ms (proc_pid_stat(5), field 22)
	Boot  string `json:"boot"`  // boot_id of that boot
}

func (r record) key() workerKey { return workerKey{r.MonitorID, r.Generation} }

// writeRecord stores a record.
func (d *runDirectory) writeRecord(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.WriteFile(r.key().fileStem()+recordSuffix, append(b, '\n'), false)
}

// parseRecord reads the record of a.
func parseRecord(b []byte, a workerKey, mark string) (record, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return r, err
	}
	switch {
	case r.key() != a:
		return r, errors.New("it is about another worker than its file name says")
	case r.Mark != mark:
		return r, errors.New("it was written for another directory")
	}
	return r, nil
}

// readRecords reads the records, and lists all workers that have a file. It logs and
// removes a record that it cannot read. It logs files of other programs and leaves them
// alone.
func (d *runDirectory) readRecords(log *slog.Logger) (records []record, workers []workerKey, err error) {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("process: run directory: %w", err)
	}
	keys := map[workerKey]bool{}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(d.Path, name)
		key, suffix, owned := parseName(name)
		regular, fifo := entry.Type().IsRegular(), entry.Type()&os.ModeNamedPipe != 0
		switch {
		case name == workerlist.LockName, name == workerlist.IDName:
		case strings.HasPrefix(name, workerlist.TempPrefix) && regular:
			_ = os.Remove(path)
		case owned && suffix == outputSuffix && fifo:
			keys[key] = true
		case owned && suffix == recordSuffix && regular:
			keys[key] = true
			b, err := workerlist.ReadFile(path)
			if err == nil {
				var r record
				if r, err = parseRecord(b, key, d.mark()); err == nil {
					records = append(records, r)
					continue
				}
			}
			log.Warn("a worker's record cannot be read; the gateway removes it and finds the worker by its arguments", "file", path, "error", err.Error())
			_ = os.Remove(path)
		default:
			log.Warn("a file in the run directory is not this program's; the gateway leaves it alone", "file", path)
		}
	}
	return records, slices.Collect(maps.Keys(keys)), nil
}
