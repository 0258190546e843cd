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

	corev1 "k8s.io/api/core/v1"
)

// podMemory records the memory of pods with all their processes: the working set, which is the
// kubelet's measure, usage without inactive file pages.
type podMemory struct {
	maxima    map[string]int64 // seen, in bytes, by pod
	stop      context.CancelFunc
	measuring sync.WaitGroup
}

// cgroups are where a pod's control group may be, and where it counts memory: in version 2 and
// version 1.
var cgroups = []struct{ pattern, usage, inactive string }{
	{"/sys/fs/cgroup/kubepods*/*/*pod%s*", "memory.current", "inactive_file"},
	{"/sys/fs/cgroup/kubepods/pod%s", "memory.current", "inactive_file"},
	{"/sys/fs/cgroup/memory/kubepods/*/pod%s", "memory.usage_in_bytes", "total_inactive_file"},
	{"/sys/fs/cgroup/memory/kubepods/pod%s", "memory.usage_in_bytes", "total_inactive_file"},
}

// measureWorkers measures the worker pods until maximum is called. It measures
// nothing if the nodes are other machines.
func (s *clusterEnv) measureWorkers(ctx context.Context) *podMemory {
	m := &podMemory{maxima: map[string]int64{}}
	ctx, m.stop = context.WithCancel(ctx)
	m.measuring.Go(func() {
		var pods []corev1.Pod
		for round, tick := 0, time.Tick(100*time.Millisecond); ; round++ {
			if round%10 == 0 {
				listCtx, cancel := context.WithTimeout(ctx, 800*time.Millisecond) // no pod goes unmeasured for longer than a second
				if now, err := s.pods(listCtx, workerSelector); err == nil {
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

func (m *podMemory) measure(pod corev1.Pod) {
	for _, c := range cgroups {
		groups, _ := filepath.Glob(fmt.Sprintf(c.pattern, pod.UID))
		for _, group := range groups {
			usage, err := os.ReadFile(filepath.Join(group, c.usage))
			stat, statErr := os.ReadFile(filepath.Join(group, "memory.stat"))
			if err != nil || statErr != nil {
				return // it has just ended
			}
			_, inactive, _ := strings.Cut("\n"+string(stat), "\n"+c.inactive+" ")
			inactive, _, _ = strings.Cut(inactive, "\n")
			used, _ := strconv.ParseInt(strings.TrimSpace(string(usage)), 10, 64)
			reclaimable, _ := strconv.ParseInt(inactive, 10, 64)
			m.maxima[pod.Name] = max(m.maxima[pod.Name], used-reclaimable)
			return
		}
	}
}

// maximum stops measuring. It returns the maximum over all pods, and their number.
func (m *podMemory) maximum() (used int64, pods int) {
	m.stop()
	m.measuring.Wait()
	for _, n := range m.maxima {
		used = max(used, n)
	}
	return used, len(m.maxima)
}
