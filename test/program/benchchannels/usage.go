package main

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// usage is the CPU time that was used until an instant, and the memory at it.
type usage struct {
	gateway, tools, postgres, program time.Duration
	gatewayMB, toolsMB, postgresMB    int64 // proportional set size
}

// look returns what was used until now. A process that the gateway has started is a tool.
func (r *run) look() (u usage) {
	megabytes := func(p system.Process) int64 { pss, _ := p.Memory(); return pss >> 20 }
	all := system.Processes()
	own := all[r.gateway.PID()]
	u.gateway, u.tools, u.gatewayMB = own.CPU, own.Waited, megabytes(own)
	for _, p := range r.gateway.Descendants() {
		u.tools += p.CPU + p.Waited
		u.toolsMB += megabytes(p)
	}
	for _, p := range r.db.Processes(all) {
		u.postgresMB += megabytes(p)
	}
	u.postgres, u.program = r.db.CPU(all), bench.OwnCPU()
	return u
}

// since returns the CPU time since an earlier look, and the memory of this one.
func (u usage) since(before usage) usage {
	u.gateway, u.tools, u.postgres, u.program = u.gateway-before.gateway, u.tools-before.tools, u.postgres-before.postgres, u.program-before.program
	return u
}

func (u usage) text() string {
	return fmt.Sprintf("CPU seconds:  gateway %.1f, its tools %.1f, PostgreSQL %.1f (this program %.1f)\nMB at the end: gateway %d, its tools %d, PostgreSQL %d\n",
		u.gateway.Seconds(), u.tools.Seconds(), u.postgres.Seconds(), u.program.Seconds(), u.gatewayMB, u.toolsMB, u.postgresMB)
}
