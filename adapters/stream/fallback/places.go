package fallback

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A run of a tool takes little CPU time, because it mostly waits for the source. Most of its
// memory is for a site's JavaScript challenges.
const (
	placesPerCore  = 8
	memoryPerPlace = 100 << 20 // bytes; a third of the host's memory is for tools
)

// Places returns how many tools this host can run at once, at least 2. There are 8 for each
// core, or fewer, so that a third of the memory has 100 MiB for each.
func Places() int { return places(runtime.GOMAXPROCS(0), memory("/")) }

func places(cores int, memory int64) int {
	n := placesPerCore * cores
	if memory > 0 {
		n = min(n, int(memory/3/memoryPerPlace))
	}
	return max(n, 2)
}

// memory returns the memory of the host, or of the control group of this process if that is
// less, in bytes; 0: unknown. root is the directory with proc and sys.
func memory(root string) (bytes int64) {
	for line := range strings.Lines(read(root, "proc/meminfo")) {
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &bytes); n == 1 {
			bytes <<= 10
			break
		}
	}
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		group, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !unified {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(read(root, filepath.Join("sys/fs/cgroup", group, "memory.max"))), 10, 64)
		if err == nil && (bytes == 0 || limit < bytes) {
			bytes = limit
		}
	}
	return bytes
}

// read returns the text of a file, or nothing if it cannot be read.
func read(root, path string) string {
	text, _ := os.ReadFile(filepath.Join(root, path))
	return string(text)
}
