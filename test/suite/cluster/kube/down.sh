#!/usr/bin/env bash
# Stops the daemons that up.sh has started, and restores what it has changed on the
# machine: iptables rules, bridge, control groups, kernel settings. Binaries stay;
# --purge also deletes the state of the cluster.
set -uo pipefail
# shellcheck source=lib.sh
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lib.sh"
export PATH="$KUBE_BIN:$PATH"

stop() { # NAME
	local pid tries=200
	if pid=$(alive "$1"); then
		kill -TERM "$pid" 2>/dev/null
		while alive "$1" >/dev/null && ((tries-- > 0)); do sleep 0.1; done
		! alive "$1" >/dev/null || kill -KILL "$pid"
	fi
	rm -f "$PIDS/$1.pid"
}

# The shims of this cluster's pods, found by program and socket.
shims() {
	local p
	for p in /proc/[0-9]*; do
		[[ $(readlink "$p/exe" 2>/dev/null) == */containerd-shim-runc-v2* ]] || continue
		{ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null | grep -qF -- "-address $CRI " && echo "${p#/proc/}"
	done
}

stop kubelet # first, because it restarts pods
if ! alive containerd >/dev/null && [[ -n $(shims) && -f $CONF/containerd.toml ]]; then
	setsid nohup containerd --config "$CONF/containerd.toml" >>"$LOGS/containerd.log" 2>&1 </dev/null &
	echo $! >"$PIDS/containerd.pid"
	for _ in {1..50}; do ctr_k8s version >/dev/null 2>&1 && break || sleep 0.2; done
fi
if alive containerd >/dev/null; then cri-clean "$CRI" >/dev/null || say 'some pods could not be removed'; fi
for name in kube-router kube-proxy coredns kube-scheduler kube-controller-manager kube-apiserver etcd containerd; do stop $name; done
for pid in $(shims); do kill -KILL "$pid" 2>/dev/null; done
awk -v dir="$KUBE_DIR/" 'index($5, dir) == 1 {print $5}' /proc/self/mountinfo | sort -r | while read -r mount; do
	umount "$mount" 2>/dev/null || umount -l "$mount"
done

if [[ -f $KUBE_DIR/sysctl.before ]]; then # up.sh has changed the settings
	kube-proxy --cleanup >/dev/null 2>&1
	for tool in iptables ip6tables; do for table in filter nat mangle; do
		rules=$($tool -w 5 -t $table -S 2>/dev/null) || continue
		grep -E '^-A [^ ]+ .*-[jg] (KUBE|CNI)-' <<<"$rules" | sed 's/^-A/-D/' | while read -r rule; do
			xargs $tool -w 5 -t $table <<<"$rule" 2>/dev/null
		done
		chains=$(sed -nE 's/^-N ((KUBE|CNI)-[^ ]*)$/\1/p' <<<"$rules")
		for chain in $chains; do $tool -w 5 -t $table -F "$chain" 2>/dev/null; done
		for chain in $chains; do $tool -w 5 -t $table -X "$chain" 2>/dev/null; done
	done; done
	for set in $(ipset list -n 2>/dev/null | grep -E '^KUBE-(SRC|DST)-'); do ipset destroy "$set"; done
	while read -r setting; do sysctl -qw "$setting" 2>/dev/null; done <"$KUBE_DIR/sysctl.before"
	rm -f "$KUBE_DIR/sysctl.before"
fi
ip link show "$BRIDGE" >/dev/null 2>&1 && ip link delete "$BRIDGE"
for group in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
	[[ -d $group ]] && find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
done
if [[ -d /var/log/containers ]]; then # the kubelet's own links to its logs
	find /var/log/containers -maxdepth 1 -type l -lname "$KUBE_DIR/*" -delete
	rmdir /var/log/containers 2>/dev/null
fi
if [[ ${1:-} == --purge ]]; then
	! grep -q " $KUBE_DIR/" /proc/self/mountinfo || fail "not purged: something is still mounted below $KUBE_DIR"
	rm -rf --one-file-system "$KUBE_DIR"
fi
exit 0
