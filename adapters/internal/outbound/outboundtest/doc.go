// Package outboundtest holds what every package that connects somewhere is
// tested with: one table of hosts, a name service and a trap.
//
//	Cases ─▶ the host of a callback, a playlist, a segment, a redirect
//	              │
//	              ├─ looked up at Names, a real server on loopback
//	              └─ connected to: Trap, real listeners on loopback; whatever
//	                 else a policy lets go is noted by Trap.Hold and goes nowhere
//
// So nothing leaves the machine, even where a policy under test is broken.
package outboundtest
