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
				if now, err := s.kube.list(ctx, selected("pods", workers)); err == nil {
					pods = now
				}
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
