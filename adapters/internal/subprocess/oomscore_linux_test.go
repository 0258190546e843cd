package subprocess_test

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

func TestAToolHasAHigherOOMScoreThanItsParent(t *testing.T) {
	raw, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	// It waits for its input, which comes when all is set.
	r, err := subprocess.Run(t.Context(), subprocess.Command{Path: "/bin/sh", Args: []string{"-c", "read -r _; cat /proc/$$/oom_score_adj; sh -c 'cat /proc/$$/oom_score_adj'"},
		Stdin: io.NopCloser(strings.NewReader("go\n"))})
	if err != nil {
		t.Fatal(err)
	}
	want := strconv.Itoa(min(own+500, 1000))
	if got := strings.Fields(string(r.Stdout)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("it and its child have %q, want %s; this process has %d", got, want, own)
	}
}
