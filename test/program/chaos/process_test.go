//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestASignalReachesOnlyItsProcess(t *testing.T) {
	t.Run("the tree of a process that does not exist is empty, and so is that of process 1", func(t *testing.T) {
		for _, root := range []int{-1, 0, 1} {
			if descendants := processTree(listProcesses(nil), root); len(descendants) > 0 {
				t.Errorf("the tree of process %d has %d processes", root, len(descendants))
			}
		}
	})

	t.Run("a process with the same id and another start time gets no signal", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p, ok := readProcess(cmd.Process.Pid)
		if !ok || p.parent != os.Getpid() {
			t.Fatalf("read %v, %v", p, ok)
		}
		other := p
		other.start += "0"
		other.signal(killSignal)
		if now, ok := readProcess(p.pid); !ok || now.zombie() {
			t.Fatal("the signal for another process ended this one")
		}
		p.signal(killSignal)
		if err := cmd.Wait(); err == nil {
			t.Error("it ended by itself")
		}
	})
}
