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
	"time"
)

// podMemory records the memory of pods in bytes, with all their processes. The
// working set is the kubelet's measure: usage without inactive file pages.
type podMemory struct {
	mu         sync.Mutex
	workingSet map[string]int64 // maximum seen, by pod
	anonymous  map[string]int64 // likewise, without any file pages
	peak       map[string]int64 // the kernel's own maximum, with all file pages; 0: not counted

	stop      context.CancelFunc
	measuring sync.WaitGroup
}

// cgroupPatterns are the paths of a pod's control group, in version 2 and version 1.
var cgroupPatterns = []string{"/sys/fs/cgroup/kubepods*/*/*pod%s*", "/sys/fs/cgroup/kubepods/pod%s", "/sys/fs/cgroup/memory/kubepods/*/pod%s", "/sys/fs/cgroup/memory/kubepods/pod%s"}

// measureWorkers measures the worker pods until maxima is called. It measures
// nothing if the nodes are other machines.
func (s *clusterEnv) measureWorkers(ctx context.Context) *podMemory {
	m := &podMemory{workingSet: map[string]int64{}, anonymous: map[string]int64{}, peak: map[string]int64{}}
	ctx, m.stop = context.WithCancel(ctx)
	m.measuring.Go(func() {
		var pods []object
		for round, tick := 0, time.Tick(100*time.Millisecond); ; round++ {
			if round%10 == 0 {
				listCtx, cancel := context.WithTimeout(ctx, 800*time.Millisecond) // no pod goes unmeasured for longer than a second
				if now, err := s.api.list(listCtx, selectedPath("pods", workerSelector)); err == nil {
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

func (m *podMemory) measure(pod object) {
	for _, pattern := range cgroupPatterns {
		found, _ := filepath.Glob(fmt.Sprintf(pattern, pod.Metadata.UID))
		if len(found) == 0 {
			continue
		}
		working, anonymous := cgroupMemory(found[0])
		m.mu.Lock()
		defer m.mu.Unlock()
		m.workingSet[pod.Metadata.Name] = max(m.workingSet[pod.Metadata.Name], working)
		m.anonymous[pod.Metadata.Name] = max(m.anonymous[pod.Metadata.Name], anonymous)
		m.peak[pod.Metadata.Name] = max(m.peak[pod.Metadata.Name], readInt(filepath.Join(found[0], "memory.peak")), readInt(filepath.Join(found[0], "memory.max_usage_in_bytes")))
		return
	}
}

// cgroupMemory reads the memory of a control group.
func cgroupMemory(group string) (working, anonymous int64) {
	used := readInt(filepath.Join(group, "memory.current"))
	inactiveKey, anonymousKey := "inactive_file", "anon"
	if used == 0 {
		used = readInt(filepath.Join(group, "memory.usage_in_bytes"))
		inactiveKey, anonymousKey = "total_inactive_file", "total_rss"
	}
	stat, _ := os.ReadFile(filepath.Join(group, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case inactiveKey:
			used -= n
		case anonymousKey:
			anonymous = n
		}
	}
	return max(used, 0), anonymous
}

func readInt(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// maxima stops measuring. It returns the maxima over all pods, and their number.
func (m *podMemory) maxima() (working, anonymous, peak int64, pods int) {
	m.stop()
	m.measuring.Wait()
	for pod := range m.workingSet {
		working, anonymous, peak = max(working, m.workingSet[pod]), max(anonymous, m.anonymous[pod]), max(peak, m.peak[pod])
	}
	return working, anonymous, peak, len(m.workingSet)
}
