//go:build unix && !linux

package subprocess

import "time"

func (l Limits) apply(int) error { return nil }

func preferForOOMKill(int) {}

func cpuTime(int) time.Duration { return time.Duration(time.Now().UnixNano()) }
