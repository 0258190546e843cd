#!/usr/bin/env bash
# load.sh IMAGE... loads images of the local Docker, or files of "docker save", into
# the cluster of up.sh. There is no registry, so pods must name the images by a tag
# other than latest.
set -euo pipefail
# shellcheck source=lib.sh
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lib.sh"
alive containerd >/dev/null || fail 'the cluster does not run (up.sh)'
for image in "$@"; do
	if [[ -f $image ]]; then
		gzip -cdf "$image" | ctr_k8s images import - >/dev/null
	else
		docker save "$image" | ctr_k8s images import - >/dev/null
	fi
	say "loaded $image"
done
