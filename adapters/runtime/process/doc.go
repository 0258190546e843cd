// Package process runs each worker as a process on the gateway's machine, the
// default outside a cluster (decision P2).
//
//	Launch ──▶ record ──▶ start ──▶ record with process ──▶ running ───────────▶ ended ──▶ Exits
//	                                                         ▲   │                 ▲
//	New ──▶ records and /proc ──▶ adopted ───────────────────┘   └─Stop─▶ SIGTERM ─▶ SIGKILL
//	                                                                        30 s, or 5 s
//
// Processes. A worker leads its own session and process group, so signals for the
// gateway's terminal do not reach it. The launcher kills a worker's tools when it ends. No
// signal reaches a process that only has the ID of an ended worker.
//
// Adoption. A worker survives its gateway, and the next gateway adopts it (decision O4).
// The run directory records the workers; one gateway holds it at a time. A record names
// a process by ID, start time and boot. A gateway that died may not have recorded a
// process; the next one recognizes it by its arguments. A gateway ends workers that
// cannot report to it, and all workers of a monitor but the newest. How an adopted worker
// ended is unknown. A worker without a gateway ends by itself after GATEWAY_PATIENCE
// (15 min). Only Linux supports adoption; elsewhere such a worker ends when a gateway
// refuses its next report.
//
// Output. The gateway's log gets a worker's log lines with its monitor_id and generation
// (section 11.2), and any other line as a value of a WARN. They come through a FIFO in the run directory,
// which the worker holds open at both ends. Without a gateway the FIFO fills up while the
// worker goes on. The next gateway reads the lines in it.
//
// Environment. A worker inherits the gateway's variables and gets its assignment (section
// 8.1). It does not get the secrets that only the gateway needs (decision W1).
//
// Failure. If the run directory cannot be written, for example on a full disk, the
// launcher still launches workers. It removes records that it cannot read, with a WARN. In
// a container, run the gateway under an init: as process 1, it would not reap the processes
// that a killed worker leaves behind.
package process
