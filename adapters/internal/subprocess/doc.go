// Package subprocess runs a tool to its end, within limits.
//
//	Run ─ start ─▶ tool-launcher ─ execve ─▶ the tool, leader of a process group of its own
//	        │            │                       └─ whatever it starts itself (a JavaScript runtime…)
//	        │            ├─ Limits: its memory, CPU time, files
//	        │            └─ Confinement: what it may read, write, connect to and ask of the kernel
//	        │
//	  ctx done ─ SIGTERM to the group ─ GracePeriod ─ SIGKILL
//	        │
//	   leader gone ─ SIGKILL to what is left of the group ─ reap ─▶ Result
//
// Guarantees: Run returns only when the process has been reaped and its output has been
// read, so it leaves nothing behind. Output beyond a limit is read and dropped, so a
// tool that writes too much neither fills memory nor blocks. A tool does not run
// before its limits are set. It inherits no variable but those of Environment,
// and on Linux no capability and no descriptor but its own. A process that has left the group (setsid) is not
// ended, and delays Run by at most GracePeriod. On Linux the tool is killed when this
// process ends, and it is the first to go when memory runs out. No thread of this process is
// confined: tool-launcher, a small program of this repository, reads a plan, confines itself as the
// plan says, and executes the tool.
package subprocess
