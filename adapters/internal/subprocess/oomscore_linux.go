package subprocess

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// oomScoreDelta is added to the tool's oom_score_adj (proc(5), −1000 to 1000).
// When memory runs out, the kernel then ends the tool rather than this process. A
// tool is run again, but the end of a gateway ends all its workers.
const oomScoreDelta = 500

// preferForOOMKill makes the kernel end a process before its parent. If that
// fails, memory size decides as usual.
func preferForOOMKill(pid int) {
	file := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	current, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if score, err := strconv.Atoi(strings.TrimSpace(string(current))); err == nil {
		_ = os.WriteFile(file, []byte(strconv.Itoa(min(score+oomScoreDelta, 1000))), 0)
	}
}
