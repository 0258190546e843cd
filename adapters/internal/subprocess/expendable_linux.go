package subprocess

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// expendable is by how much sooner than its parent a tool is to be ended when
// memory runs out, of 1000 (proc(5), oom_score_adj). A tool that is lost is run
// again; a gateway takes fifty workers with it.
const expendable = 500

// offer has the kernel end a process rather than its parent. Where that cannot be
// said, size decides as always.
func offer(pid int) {
	file := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	now, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if score, err := strconv.Atoi(strings.TrimSpace(string(now))); err == nil {
		_ = os.WriteFile(file, []byte(strconv.Itoa(min(score+expendable, 1000))), 0)
	}
}
