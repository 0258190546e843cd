package fallback_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
)

func TestPlacesFollowCoresAndMemory(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		cores  int
		memory int64
		want   int
	}{
		{2, 8 * gib, 16}, {2, 4 * gib, 13}, {16, 4 * gib, 13}, {1, gib, 3}, {1, gib / 4, 2}, {2, 0, 16},
	} {
		if got := fallback.PlacesFor(c.cores, c.memory); got != c.want {
			t.Errorf("%d cores and %d bytes: %d places, want %d", c.cores, c.memory, got, c.want)
		}
	}
	if n := fallback.Places(); n < 2 {
		t.Errorf("this host has %d places", n)
	}
}

func TestMemoryIsThatOfTheControlGroup(t *testing.T) {
	const total = "MemFree: 1 kB\nMemTotal:       8000000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a host without limits":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n"}, 8000000 << 10},
		"a group without limit":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8000000 << 10},
		"a container":            {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000\n"}, 1000000},
		"a unit of systemd":      {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "1:cpu:/x\n0::/system.slice/a.service\n", "sys/fs/cgroup/system.slice/a.service/memory.max": "2000000\n"}, 2000000},
		"a limit above the host": {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000000000000\n"}, 8000000 << 10},
		"another system":         {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				file := filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := fallback.Memory(root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
