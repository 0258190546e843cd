#!/usr/bin/env bash
# The launcher's conformance and the acceptance in a cluster, from nothing to an
# end: "make test-cluster".
#
#	STREAM_MONITOR_TEST_KUBECONFIG  a cluster to use; default: one is brought up here, as
#	                                root. KUBECONFIG is not looked at
#	STREAM_MONITOR_LOAD_IMAGE       how an image gets into it, such as "kind load docker-image";
#	                                default: kube/load.sh, or nothing with a cluster given
#	STREAM_MONITOR_IMAGE            the image; default: the one that "make image" builds
#	STREAM_MONITOR_NEXT_IMAGE       what the acceptance upgrades to; default: the same image
#	                                with another label and tag, made here by Docker
#	STREAM_MONITOR_POD_NETWORK      where pods are, a CIDR, if the nodes do not say it
#	KEEP=1                          leaves the cluster that was brought up
#
# Arguments are go test's for the acceptance, such as -run TestTheChart.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# shellcheck source=kube/lib.sh
. "$here/kube/lib.sh"
exec </dev/null
unset KUBECONFIG

"$here/kube/able.sh"
load=${STREAM_MONITOR_LOAD_IMAGE:-}
if [[ -z ${STREAM_MONITOR_TEST_KUBECONFIG:-} ]]; then
	load=${load:-$here/kube/load.sh}
	running || [[ ${KEEP:-} == 1 ]] || trap '"$here/kube/down.sh"' EXIT
	STREAM_MONITOR_TEST_KUBECONFIG=$("$here/kube/up.sh")
	export STREAM_MONITOR_POD_NETWORK=${STREAM_MONITOR_POD_NETWORK:-$POD_CIDR}
	export PATH="$KUBE_BIN:$PATH"
fi
export STREAM_MONITOR_TEST_KUBECONFIG
have helm && have kubectl || PATH=$KUBE_BIN:$PATH
have helm && have kubectl || fail "kubectl and helm are needed: test/suite/cluster/kube/build.sh builds them"

if [[ -z ${STREAM_MONITOR_IMAGE:-} ]]; then
	VERSION=cluster-test "$root/test/suite/image/build.sh"
	STREAM_MONITOR_IMAGE=stream-monitor:cluster-test
fi
images=("$STREAM_MONITOR_IMAGE")
if [[ -z ${STREAM_MONITOR_NEXT_IMAGE:-} ]]; then
	[[ -n $load ]] || fail "STREAM_MONITOR_NEXT_IMAGE must name a second image, for there is no way to load one (STREAM_MONITOR_LOAD_IMAGE)"
	STREAM_MONITOR_NEXT_IMAGE=$STREAM_MONITOR_IMAGE-next
	docker build -q -t "$STREAM_MONITOR_NEXT_IMAGE" - >/dev/null <<-D
		FROM $STREAM_MONITOR_IMAGE
		LABEL stream-monitor.test=next
	D
	images+=("$STREAM_MONITOR_NEXT_IMAGE")
fi
export STREAM_MONITOR_IMAGE STREAM_MONITOR_NEXT_IMAGE
if [[ -n $load ]]; then
	for image in "${images[@]}"; do
		say "loading $image"
		$load "$image"
	done
fi
cd "$root"
say "the launcher's conformance"
STREAM_MONITOR_TEST_IMAGE=$STREAM_MONITOR_IMAGE go test -tags cluster -count=1 -run RealCluster -timeout 15m ./adapters/runtime/kube
go test -tags cluster -count=1 -timeout 30m -v "$@" ./test/suite/cluster
