#!/usr/bin/env bash
# Checks whether a cluster can be started here. Succeeds silently, or prints the reason
# in one line. With STREAM_MONITOR_TEST_KUBECONFIG it only checks that this cluster
# answers. KUBECONFIG is ignored, because it may name a production cluster.
set -euo pipefail
# shellcheck source=lib.sh
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lib.sh"

if [[ -n ${STREAM_MONITOR_TEST_KUBECONFIG:-} ]]; then
	have kubectl || PATH=$KUBE_BIN:$PATH
	kubectl --kubeconfig="$STREAM_MONITOR_TEST_KUBECONFIG" --request-timeout=10s version >/dev/null 2>&1 ||
		fail "the cluster of STREAM_MONITOR_TEST_KUBECONFIG does not answer"
	exit 0
fi
[[ $(uname -s) == Linux ]] || fail "cannot be brought up: this is not Linux"
[[ $(id -u) == 0 ]] || fail "cannot be brought up: not root"
have go || fail "cannot be brought up: go is missing"
have apt-get || { have containerd && have runc && have iptables && have ipset && have openssl && have ip && have ss && have curl && have sysctl; } ||
	fail "cannot be brought up: no apt-get to install containerd, runc, iptables, ipset, iproute2, openssl, curl and procps with"
[[ -f /sys/fs/cgroup/cgroup.controllers || -d /sys/fs/cgroup/memory ]] || fail "cannot be brought up: no control groups"
! have ipset || ipset list -n >/dev/null 2>&1 || fail "cannot be brought up: the kernel has no ipset, with which NetworkPolicies are enforced"
[[ -w /proc/sys/net/ipv4/ip_forward ]] || fail "cannot be brought up: the kernel's settings are read-only here (a container?)"
unshare --mount true 2>/dev/null || fail "cannot be brought up: namespaces may not be made here"
