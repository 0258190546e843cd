// Package kube runs each worker as a pod of a Kubernetes cluster (chapter 8).
//
//	Launch ──▶ pod stream-monitor-{monitor id}
//	             │
//	             ├─ exit code 0 ──────────────┐
//	             ├─ crash ──▶ restarted, 3 times ──▶ fourth crash ──┐
//	             ├─ evicted, out of memory, its node drained ───────┼──▶ Exits ──▶ pod deleted
//	             ├─ deleted by anybody ───────────────────┐         │
//	             └─ Stop ──▶ deleted, 30 s ──▶ SIGKILL ───┴▶ gone ──┘
//	                            ├─ its node is dead ──▶ 5 s later by force
//	                            └─ a finalizer holds it even then ──▶ error
//
// All gateways of an installation see the same pods, the ends of all of them,
// and delete those that have ended at once (section 8.4); one comes first, and
// the others find nothing to do. Pods belong to no gateway: a gateway that ends,
// or is replaced by another version, leaves them running. An installation is a
// namespace and an instance, which every pod has as a label; its pods are
// selected by labels, and one with a wrong name or without a generation is none.
//
// # What has ended
//
// A container that crashes is restarted in its pod by the kubelet
// (restartPolicy OnFailure), in the same generation: that is no end, and is said
// as a warning. The kubelet does so at once after the first crash, and after 10,
// 20 and 40 s after the next ones; it says CrashLoopBackOff while it waits, from
// the second crash on, and begins anew with a container that has run for 10
// minutes. It is an end when three restarts have not helped (CrashLoopBackOff
// after the fourth crash since the container last ran that long; measured, 45 to
// 60 s after the first of crashes that follow at once), when the pod is over, and
// when it is gone. A gateway that starts while a container crashes may not know
// how often it has: it counts from there, and the report lease ends before. Each
// end is told once by each gateway:
//
//	watch ────────────▶ ┌────────┐
//	list (Workers) ───▶ │ ledger │──▶ Exits
//	create, get ──────▶ └────────┘
//
// What the ledger knows a pod by is its UID. The watch is a list and the changes
// since. After a gap it begins with a list again, and what went meanwhile has
// vanished: how it ended nobody saw. Should the watch hang, two of the lists that
// Workers makes, at least 5 s apart, find out the same. A pod that is gone is
// remembered for 5 minutes, so no answer that comes late tells its end again.
//
// Whether workers run is never read from there: Workers asks the API server.
//
// # What a pod is
//
// Section 8.1, and as few rights as will do: no root, no capability, nothing to
// write to but /tmp (1 GiB) and the segments below it (emptyDir without a limit,
// as section 8.1 has it), no token of a service account. It gets INTERNAL_API_KEY
// from a Secret, and so HTTP_PROXY and HTTPS_PROXY if there is a user in their
// address; all else is in clear, and an address with a user in it refused. An
// operator may lay a part of a PodTemplateSpec over it; name, labels and
// assignment stay what they are.
//
// # When the API server is away
//
// Calls are bounded in time and, where that does no harm, repeated. A pod has one
// name, so even a creation whose answer was lost is found by the next. Workers
// go on meanwhile. A pod that cannot start, for lack of an image, of room, of a
// Secret, is said once for each reason, and Workers tells that it is starting and
// what keeps it (supervisor.Worker). What client-go says by itself is in the log,
// too.
package kube
