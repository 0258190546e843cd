// Package process runs each worker as a child process of the gateway, the way
// workers run outside a cluster (decision P2).
//
//	Launch ──▶ intent ──▶ start ──▶ record ──▶ running ───────────────────▶ gone ──▶ Exits
//	           on disk              on disk     ▲   │                        ▲
//	                                            │ Stop ──▶ SIGTERM ──▶ SIGKILL
//	New ──▶ records and /proc ──▶ adopted ──────┘            30 s, or 5 s
//
// A worker leads a session and a process group of its own. A signal meant for
// the gateway's terminal does not reach it, and when it is gone, whatever it
// has started, in whatever process group, is ended with it.
//
// # Adoption
//
// A worker does not die of the gateway's process ending (no Pdeathsig): it goes
// on, and the next gateway adopts it (decision O4). Which workers there are is
// kept in a run directory, which one gateway holds at a time. A record names
// its process by number, start time and boot, so that it is never taken for
// another that has got its number. It is written twice, before the start and
// after: a gateway that dies in between leaves an intent, and a worker that
// carries the directory's mark in its environment, by which it is found.
//
// Adopted are those that can report to this gateway: others are ended, and so
// are all but the newest of one monitor. Their ends are told like those of any
// other; how they ended is not known. A directory that cannot be written, a full
// disk, keeps no worker from being launched: it is then found by its
// environment alone. Records that make no sense are removed, with a warning.
//
// When no gateway has come for 15 minutes (GATEWAY_PATIENCE), a worker ends by
// itself. On other systems than Linux nothing is adopted: a worker is told, in
// answer to its next report, that another one has taken over, and ends.
//
// # Owners
//
// Two goroutines own a worker. One waits for the process. It sweeps up what a
// child left before it gives the process id back to the system; of an adopted
// worker it sweeps what is the worker's for certain. No signal can ever hit a
// stranger. The other carries out Stop, and outlives whoever asked for it: a
// Stop begun is finished. One more passes the worker's output through. Close
// waits for all of them.
//
// # Output
//
// What a worker prints goes to the gateway's own log, a line at a time: a log
// line of section 11.2 as it is, anything else as a warning with the worker's
// monitor_id. A line longer than 64 KiB is cut. It comes through a FIFO in the
// run directory that the worker holds both ends of: without a gateway it fills
// up and the worker goes on; the next gateway reads on.
//
// A worker inherits the environment, less the secrets that only the gateway
// needs (decision W1), plus the assignment of section 8.1.
//
// When the gateway is process 1 of a container, what a killed worker leaves
// becomes its children and stays as zombies: run it under an init there.
package process
