package subprocess_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

func TestATimeIsOfTheCPU(t *testing.T) {
	start := func(script string) *subprocess.Process {
		p, err := subprocess.Start(subprocess.Command{Path: "/bin/sh", Args: []string{"-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	busy, idle := start("while :; do :; done"), start("read line")
	defer idle.Stop()
	const wanted = time.Second // much more than a start takes on a busy machine
	for deadline := time.Now().Add(time.Minute); busy.CPUTime() < wanted; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a busy tool has used %v", busy.CPUTime())
		}
	}
	if used := idle.CPUTime(); used <= 0 || used >= wanted {
		t.Errorf("an idle tool has used %v", used)
	}
	if busy.Stop(); busy.CPUTime() != 0 {
		t.Errorf("a tool that has ended has used %v", busy.CPUTime())
	}
}
