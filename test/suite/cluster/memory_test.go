//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is what pods hold with all that runs in them, in bytes, measured as the
// kubelet does it: what is used, less the pages of files that nobody has touched
// for a while.
type memory struct {
	mu      sync.Mutex
	working map[string]int64 // the most that was seen, by pod
	private map[string]int64 // likewise without any pages of files
	peak    map[string]int64 // the most there ever was, by the kernel, with all pages of files; 0: it does not count that

	stop     context.CancelFunc
	watching sync.WaitGroup
}

// The control groups of a pod, of version 2 and of version 1.
var groups = []string{"/sys/fs/cgroup/kubepods*/*/*pod%s*", "/sys/fs/cgroup/kubepods/pod%s", "/sys/fs/cgroup/memory/kubepods/*/pod%s", "/sys/fs/cgroup/memory/kubepods/pod%s"}

// observe measures the pods of workers until it is told. A cluster whose nodes
// are other machines cannot be measured like this: nothing is.
func (s *site) observe(ctx context.Context) *memory {
	m := &memory{working: map[string]int64{}, private: map[string]int64{}, peak: map[string]int64{}}
	ctx, m.stop = context.WithCancel(ctx)
	m.watching.Go(func() {
		var pods []object
		for round, tick := 0, time.Tick(100*time.Millisecond); ; round++ {
			if round%10 == 0 {
				asked, cancel := context.WithTimeout(ctx, 800*time.Millisecond) // no pod goes unmeasured for longer than a second
				if now, err := s.kube.list(asked, selected("pods", workers)); err == nil {
					pods = now
				}
				cancel()
			}
			for _, p := range pods {
				m.measure(p)
			}
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
		}
	})
	return m
}

func (m *memory) measure(pod object) {
	for _, pattern := range groups {
		found, _ := filepath.Glob(fmt.Sprintf(pattern, pod.Metadata.UID))
		if len(found) == 0 {
			continue
		}
		working, private := held(found[0])
		m.mu.Lock()
		defer m.mu.Unlock()
		m.working[pod.Metadata.Name] = max(m.working[pod.Metadata.Name], working)
		m.private[pod.Metadata.Name] = max(m.private[pod.Metadata.Name], private)
		m.peak[pod.Metadata.Name] = max(m.peak[pod.Metadata.Name], number(filepath.Join(found[0], "memory.peak")), number(filepath.Join(found[0], "memory.max_usage_in_bytes")))
		return
	}
}

// held reads a control group.
func held(group string) (working, private int64) {
	used := number(filepath.Join(group, "memory.current"))
	inactive, anonymous := "inactive_file", "anon"
	if used == 0 {
		used = number(filepath.Join(group, "memory.usage_in_bytes"))
		inactive, anonymous = "total_inactive_file", "total_rss"
	}
	stat, _ := os.ReadFile(filepath.Join(group, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case inactive:
			used -= n
		case anonymous:
			private = n
		}
	}
	return max(used, 0), private
}

func TestAPodHoldsWhatTheKubeletCounts(t *testing.T) {
	for version, files := range map[string]map[string]string{
		"version 2": {"memory.current": "100\n", "memory.peak": "900\n", "memory.stat": "anon 60\nfile 40\ninactive_file 30\nactive_file 10\n"},
		"version 1": {"memory.usage_in_bytes": "100\n", "memory.max_usage_in_bytes": "900\n",
			"memory.stat": "rss 1\ninactive_file 2\ntotal_rss 60\ntotal_inactive_file 30\ntotal_active_file 10\n"},
	} {
		t.Run(version, func(t *testing.T) {
			group := t.TempDir()
			for name, content := range files {
				must(t, os.WriteFile(filepath.Join(group, name), []byte(content), 0o600))
			}
			if working, private := held(group); working != 70 || private != 60 {
				t.Errorf("held are %d, %d without files; want 70 and 60", working, private)
			}
		})
	}
}

func number(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// most is the most that any pod has held, of how many.
func (m *memory) most() (working, private, peak int64, pods int) {
	m.stop()
	m.watching.Wait()
	for pod := range m.working {
		working, private, peak = max(working, m.working[pod]), max(private, m.private[pod]), max(peak, m.peak[pod])
	}
	return working, private, peak, len(m.working)
}
