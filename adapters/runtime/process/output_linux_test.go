package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The output of a worker goes on where the killed gateway stopped reading it.
func TestTheNextGatewayReadsAWorkersOutput(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(printsWhenTold)
	line := func(n int) string { return fmt.Sprintf(`"message":"line %d"`, n) }
	say := func(n int) {
		r.signal(spec.ID, syscall.SIGUSR1)
		r.eventually("its line", func() bool { return len(readMarks(r.marks, fmt.Sprintf("said%d", n), string(spec.ID))) == 1 })
	}
	gateway := r.startEarlierGateway(nil, spec)
	say(1)
	r.eventually("line 1 in the earlier gateway's log", func() bool {
		b, _ := os.ReadFile(filepath.Join(r.marks, "predecessor.log"))
		return strings.Contains(string(b), line(1))
	})
	gateway.kill()
	say(2) // nobody reads it
	r.startLauncher(nil)
	say(3)
	for n := 2; n <= 3; n++ {
		r.eventually(line(n), func() bool { return strings.Contains(strings.Join(r.log.all(), ""), line(n)) })
	}
	if log := strings.Join(r.log.all(), ""); strings.Contains(log, line(1)) || strings.Index(log, line(2)) > strings.Index(log, line(3)) {
		t.Errorf("the log is\n%s", log)
	}
}

// Without a gateway the FIFO fills up. A write then fails with EAGAIN; it neither blocks
// nor raises SIGPIPE.
func TestAWorkerGoesOnWhileNobodyReadsItsOutput(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(floodsWhenTold)
	r.startEarlierGateway(nil, spec).kill()
	r.signal(spec.ID, syscall.SIGUSR1)
	r.eventually("the end of its output", func() bool { return len(readMarks(r.marks, "said1", string(spec.ID))) == 1 })
	r.startLauncher(nil)
	r.expectListed(spec.Generation)
	r.eventually("the lines that the FIFO holds", func() bool {
		return strings.Count(strings.Join(r.log.all(), ""), `"message":"line 1"`) > 100
	})
	if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
}
