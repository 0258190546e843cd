// Package subprocess runs a tool to its end, within limits.
//
//	Run ─ start ─▶ the tool, leader of a process group of its own
//	        │            └─ whatever it starts itself (a JavaScript runtime…)
//	     Limits ─ its memory, CPU time, files
//	        │
//	      Stdin ─ from here on
//	        │
//	  ctx done ─ SIGTERM to the group ─ Grace ─ SIGKILL
//	        │
//	   leader gone ─ SIGKILL to what is left of the group ─ reap ─▶ Result
//
// Guarantees: Run returns only when the process has been reaped and its output
// has been read, so a caller that returns leaves nothing behind. What the tool
// writes is kept up to a limit and always drained, so a tool that writes too
// much neither fills memory nor hangs. It may be limited in what it uses, and
// gets none of its input before it is. A process that left the group (setsid)
// cannot be ended, but cannot hold Run up for longer than Grace either. On
// Linux the tool dies with this process even when that is killed outright, and
// when memory runs out, it goes first.
package subprocess
