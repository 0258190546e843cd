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
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// record is what the run directory says of a worker. It is written before the
// worker starts, without a process, and again when it has started.
type record struct {
	MonitorID  monitor.ID `json:"monitor_id"`
	Generation int        `json:"generation"`
	GatewayURL string     `json:"gateway_url"`
	Mark       string     `json:"mark"` // of the directory: a copy's records are not its own
	Process    *identity  `json:"process,omitempty"`
}

// identity tells a process from all others that have had, or will have, its
// number.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // since boot, in ticks of 10 ms (proc_pid_stat(5), field 22)
	Boot  string `json:"boot"`  // which boot
}

func (r record) assignment() assignment { return assignment{r.MonitorID, r.Generation} }

// put writes a record. When that fails, a worker is still found by what it
// carries in its environment.
func (d *directory) put(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.WriteFile(r.assignment().stem()+recordSuffix, append(b, '\n'), false)
}

// parseRecord reads what put has written as the record of a.
func parseRecord(b []byte, a assignment, mark string) (record, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return r, err
	}
	switch {
	case r.assignment() != a:
		return r, errors.New("it is about another worker than its name says")
	case r.Mark != mark:
		return r, errors.New("it was written for another directory")
	}
	return r, nil
}

// survey reads the directory: records, and whatever else there is of workers.
// What makes no sense is told, and removed where it is certainly of this
// program's making.
func (d *directory) survey(log *slog.Logger) (records []record, seen []assignment, err error) {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("process: run directory: %w", err)
	}
	workers := map[assignment]bool{}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(d.Path, name)
		a, suffix, ours := parseName(name)
		regular, fifo := entry.Type().IsRegular(), entry.Type()&os.ModeNamedPipe != 0
		switch {
		case name == workerlist.LockName, name == workerlist.IDName:
		case strings.HasPrefix(name, workerlist.TempPrefix) && regular:
			_ = os.Remove(path)
		case ours && suffix == outputSuffix && fifo:
			workers[a] = true
		case ours && suffix == recordSuffix && regular:
			workers[a] = true
			b, err := workerlist.ReadFile(path)
			if err == nil {
				var r record
				if r, err = parseRecord(b, a, d.mark()); err == nil {
					records = append(records, r)
					continue
				}
			}
			log.Warn("a worker's record makes no sense and is removed", "file", path, "error", err.Error())
			_ = os.Remove(path)
		default:
			log.Warn("a file in the run directory is none of this program's and is left alone", "file", path)
		}
	}
	return records, slices.Collect(maps.Keys(workers)), nil
}
