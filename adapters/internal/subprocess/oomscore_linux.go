package subprocess

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// oomScoreDelta is added to the tool's oom_score_adj (proc(5), −1000 to 1000).
// When memory runs out, the kernel then ends the tool rather than this process. A
// tool is run again, but the end of a gateway ends all its workers.
const oomScoreDelta = 500

// oomScore returns what makes the kernel end a tool before this process. If that
// fails, memory size decides as usual.
var oomScore = sync.OnceValue(func() []step {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return nil
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		return nil
	}
	return []step{{stepOOMScore, "oom_score_adj", []byte(strconv.Itoa(min(score+oomScoreDelta, 1000)))}}
})
