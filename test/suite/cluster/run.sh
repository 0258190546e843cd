#!/usr/bin/env bash
# Runs the launcher's conformance tests and the release tests in a cluster ("make
# test-cluster"). It starts a cluster if none is given, and stops it afterwards.
#
#	STREAM_MONITOR_TEST_KUBECONFIG  the cluster to use; default: one is started here, as
#	                                root. KUBECONFIG is ignored
#	STREAM_MONITOR_LOAD_IMAGE       command that loads an image into it, such as "kind load
#	                                docker-image"; default: kube/load.sh, or none if a
#	                                cluster is given
#	STREAM_MONITOR_IMAGE            the image; default: the one that "make image" builds
#	STREAM_MONITOR_NEXT_IMAGE       the image to upgrade to; default: the same image with
#	                                another label and tag, built here by Docker
#	STREAM_MONITOR_POD_NETWORK      the pods' network, a CIDR, if the nodes do not have it
#	KEEP=1                          keeps the cluster that was started
#
# Arguments are passed to go test for the release tests, such as -run TestTheChart.
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
	[[ -n $load ]] || fail "STREAM_MONITOR_NEXT_IMAGE must name a second image, because STREAM_MONITOR_LOAD_IMAGE is not set and none can be loaded"
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
say "running the launcher's conformance tests"
STREAM_MONITOR_TEST_IMAGE=$STREAM_MONITOR_IMAGE go test -tags cluster -count=1 -run RealCluster -timeout 15m ./adapters/runtime/kube
go test -tags cluster -count=1 -timeout 30m -v "$@" ./test/suite/cluster
