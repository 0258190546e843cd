// Package process runs each worker as a process on the gateway's machine, the
// default outside a cluster (decision P2).
//
//	Launch ──▶ start ──▶ running ───────────────────────────▶ ended ──▶ Exits
//	                        ▲                                   ▲
//	              Stop ──▶ SIGTERM ──▶ 30 s, or 5 s ──▶ SIGKILL ┘
//
// Processes. A worker leads its own session and process group, so signals for the
// gateway's terminal do not reach it. It ends with its gateway (decision O4): it notices the end
// of its standard input, of which the gateway holds the other end, and on Linux the
// kernel kills it. Its tools end with it in the same way (package subprocess).
//
// Output. The gateway's log gets a worker's log lines with its monitor_id and generation
// (section 11.2), and any other line as a value of a WARN.
//
// Environment. A worker gets its assignment (section 8.1), its settings, and what tools get
// (subprocess.Environment). It gets no other variable of the gateway (decision W1).
package process
