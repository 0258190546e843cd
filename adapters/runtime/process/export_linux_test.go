package process

import "github.com/stream-monitor/stream-monitor/domain/monitor"

// LastSeen returns when an adopted worker was last seen alive, in ticks since boot.
func (l *Launcher) LastSeen(id monitor.ID) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[id][0].process.(*adoptedProcess).lastSeen.Load()
}
