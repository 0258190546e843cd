// Package process runs each worker as a process on the gateway's machine, the
// default outside a cluster (decision P2).
//
//	Launch ──▶ record ──▶ start ──▶ record with process ──▶ running ───────────▶ ended ──▶ Exits
//	                                                         ▲   │                 ▲
//	New ──▶ records and /proc ──▶ adopted ───────────────────┘   └─Stop─▶ SIGTERM ─▶ SIGKILL
//	                                                                        30 s, or 5 s
//
// Processes. A worker leads its own session and process group, so signals for the
// gateway's terminal do not reach it. Its tools are killed when it ends. No signal can reach another process that has got a reused process id.
//
// Adoption. A worker survives its gateway, and the next gateway adopts it (decision
// O4). The run directory records which workers there are; one gateway holds it at a
// time. A record names the process by id, start time and boot. A worker whose
// gateway died before it could record the process is found by its environment. A
// worker that cannot report to this gateway is ended, and so are all but the newest
// of a monitor. How an adopted worker ended is not known. A worker without a gateway
// ends by itself after GATEWAY_PATIENCE (15 min). Only Linux supports adoption;
// elsewhere such a worker ends when its next report is refused.
//
// Output. A worker's log lines (section 11.2) go to the gateway's log unchanged,
// anything else as a WARN with monitor_id. They come through a FIFO in the run
// directory, which the worker holds open at both ends. Without a gateway it fills up
// and the worker goes on; the next gateway reads the rest.
//
// Environment. A worker inherits the gateway's, without the secrets that only the
// gateway needs (decision W1), plus its assignment (section 8.1).
//
// Failure. A run directory that cannot be written, such as a full disk, keeps no
// worker from being launched. Records that cannot be read are removed, with a WARN.
// When the gateway is process 1 of a container, run it under an init: what a killed
// worker leaves behind stays as zombies otherwise.
package process
