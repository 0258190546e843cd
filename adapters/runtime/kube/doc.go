// Package kube runs each worker as a pod of a Kubernetes cluster (chapter 8). It
// implements supervisor.Launcher.
//
//	Launch ──▶ Pending ──▶ Running ──▶ Succeeded: exit code 0 ──▶ Exit
//	              │          │  ▲
//	              │          ▼  │ the kubelet restarts the container, 3 times
//	              │        crash ──── the fourth crash ──────────▶ Exit ──▶ pod deleted
//	              │          │
//	              │          └─ Failed: evicted, node drained ───▶ Exit ──▶ pod deleted
//	              ▼
//	            Terminating, by Stop or by anybody else
//	              ├─ the worker stops within its grace period ───▶ Exit
//	              ├─ SIGKILL after the grace period (30 s) ──────▶ Exit
//	              ├─ the node is dead: force-deleted 5 s later ──▶ Exit
//	              └─ a finalizer keeps the pod: Stop returns an error
//
// # Guarantees
//
// Each gateway reports the end of every worker once, whichever gateway launched it. Every
// gateway deletes ended pods at once (section 8.4), and one succeeds. Pods belong to no
// gateway, so a gateway may stop or be replaced while they run. A namespace and an
// instance label identify an installation.
//
// An informer of client-go tells the pod cache of the workers. A pod that disappears during a
// gap of the watch is reported as vanished; of one that was launched and has disappeared before the
// watch showed it, the supervisor misses the reports. Workers reads the cache, and fails while the
// pods cannot be watched. Runs reads one pod from the API server. The supervisor asks it
// before it acts on a worker that Workers lacks. So a watch that is behind makes no worker count
// as missing.
//
// # Failures
//
// Requests have time limits, and idempotent ones are retried. A pod's name is fixed, so a
// repeated creation does no harm if the first response was lost. Workers go on while the
// API server does not answer. The launcher logs a pod that cannot start once for each
// reason, and Workers returns the reason.
//
// Restarts before a run of 10 minutes do not count. A gateway that starts between crashes
// does not know of the earlier ones. Then the supervisor notices first that the worker's
// reports are missing.
package kube
