// Package process runs each worker as a child process of the gateway, the way
// workers run outside a cluster (decision P2).
//
//	Launch ──▶ start ──▶ running ──────────────────────────▶ gone ──▶ Exits
//	                        │                                  ▲
//	                      Stop ──▶ SIGTERM ──▶ 30 s ──▶ SIGKILL┘
//
// A worker leads a session and a process group of its own. A signal meant for
// the gateway's terminal does not reach it, and when it is gone, whatever it
// has started, in whatever process group, is ended with it. A worker does not
// die of the gateway's process ending (no Pdeathsig): it goes on, and the next
// gateway tells it, in answer to a report, whether it is still wanted. When none
// has come for 15 minutes (GATEWAY_PATIENCE), it ends by itself.
//
// Two goroutines own a child. One waits for the process; it sweeps up what the
// process left before it gives the process id back to the system, so that no
// signal can ever hit a stranger. The other carries out Stop, and outlives
// whoever asked for it: a Stop begun is finished. Two more pass the child's
// output through. Close waits for all of them.
//
// What a child prints goes to the gateway's own log, a line at a time: a log
// line of section 11.2 as it is, anything else as a record with the worker's
// monitor_id. A line longer than 64 KiB is cut.
//
// A child inherits the environment, less the secrets that only the gateway
// needs (decision W1), plus the assignment of section 8.1.
//
// When the gateway is process 1 of a container, processes that a killed worker
// leaves are adopted by it and stay zombies: run it under an init there.
package process
