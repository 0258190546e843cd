//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestWhoIsStruck(t *testing.T) {
	t.Run("nobody is below a process that is not there, nor below the first", func(t *testing.T) {
		for _, root := range []int{-1, 0, 1} {
			if family := processTree(listProcesses(nil), root); len(family) > 0 {
				t.Errorf("below process %d are %d", root, len(family))
			}
		}
	})

	t.Run("a signal reaches the process that is meant, and not another of its number", func(t *testing.T) {
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
			t.Fatal("another process was meant, and this one is dead")
		}
		p.signal(killSignal)
		if err := cmd.Wait(); err == nil {
			t.Error("it ended by itself")
		}
	})
}
