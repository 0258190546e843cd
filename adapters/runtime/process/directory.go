package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// What a run directory has of each worker.
//
//	MONITOR.GENERATION.json  its record
//	MONITOR.GENERATION.log   the FIFO that it prints to
const (
	recordSuffix = ".json"
	outputSuffix = ".log"
)

// directory is the run directory that this launcher holds.
type directory struct{ *workerlist.Dir }

// place is what Place tells of it. Under another runtime it is the same place:
// what ran here is missed at once.
func (d *directory) place() supervisor.Runtime {
	return supervisor.Runtime{ID: d.ID.String(), NotFoundMessage: "Worker process not found on this machine"}
}

// mark is what workers from here carry. The id alone is copied with a
// directory, and the path alone is the same in many containers.
func (d *directory) mark() string { return d.ID.String() + " " + d.Path }

// assignment is what a worker is there for; at most one process has it.
type assignment struct {
	id         monitor.ID
	generation int
}

// stem is what the names of its files begin with.
func (a assignment) stem() string { return string(a.id) + "." + strconv.Itoa(a.generation) }

// parseName reads the name of a worker's file.
func parseName(name string) (a assignment, suffix string, ok bool) {
	part := strings.Split(name, ".")
	if len(part) != 3 {
		return a, "", false
	}
	id, err := monitor.ParseID(part[0])
	generation, errNumber := strconv.Atoi(part[1])
	a, suffix = assignment{id, generation}, "."+part[2]
	known := suffix == recordSuffix || suffix == outputSuffix
	return a, suffix, known && err == nil && errNumber == nil && name == a.stem()+suffix
}

// forget removes what there is of a worker.
func (d *directory) forget(a assignment) {
	for _, suffix := range []string{recordSuffix, outputSuffix} {
		_ = os.Remove(filepath.Join(d.Path, a.stem()+suffix))
	}
}
