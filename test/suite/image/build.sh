#!/usr/bin/env bash
# Builds the image from deploy/Dockerfile, tags it stream-monitor:VERSION, and labels it
# with the versions of its tools. Called by "make image".
#
#	VERSION    of stream-monitor, and the tag (default: git describe, else dev)
#	IMAGE      the name without the tag (default: stream-monitor)
#	FFMPEG     static (default) or debian
#
# yt-dlp, streamlink and deno are those of test/tools/requirements.txt ("make lock"), FFmpeg
# and dav1d those of deploy/ffmpeg-sources ("make lock-ffmpeg").
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec </dev/null

version=${VERSION:-$(git -C "$root" describe --tags --always --dirty 2>/dev/null || echo dev)}
revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
image=${IMAGE:-stream-monitor}:$version
[[ $version != latest ]] || fail "VERSION must not be latest: the tag must be the version of the image"

args=(--build-arg "VERSION=$version")
[[ -z ${FFMPEG:-} ]] || args+=(--build-arg "FFMPEG=$FFMPEG")

# build FILTER ARGUMENT… builds the image and shows its progress through a filter. If it
# fails it shows the end of the whole log.
build() {
	local log status=0 filter=$1
	shift
	log=$(mktemp)
	docker buildx build --load --progress plain -f "$root/deploy/Dockerfile" "${args[@]}" "$@" "$root" 2>&1 |
		tee "$log" | "$filter" >&2 || status=$?
	((status == 0)) || tail -n 60 "$log" >&2
	rm -f "$log"
	return "$status"
}

# steps shows each step, and the messages of deploy/ffmpeg.sh and deploy/tools.sh.
steps() { sed -un 's/^#[0-9]* \(\[[a-z-]* [0-9]*\/[0-9]*\] .\{1,70\}\).*/image:   \1/p; s/^#[0-9.]* [0-9.]* \(\(ffmpeg\|tools\): .*\)/image:   \1/p'; }
nothing() { cat >/dev/null; }

# A build cannot compute labels. So label reads the versions from the built image and
# builds it again; the cache has everything but the labels.
label() {
	local labels=() tool number
	while read -r tool number; do
		labels+=(--label "stream-monitor.$tool=$number")
	done < <(docker run --rm --entrypoint cat "$image" /usr/share/stream-monitor/versions)
	((${#labels[@]})) || fail "the image has no /usr/share/stream-monitor/versions"
	build nothing -t "$image" "${labels[@]}" \
		--label org.opencontainers.image.title=stream-monitor \
		--label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.revision=$revision"
}

"$here/engine.sh"
"$here/bases.sh" debian:trixie-slim golang:1.26-trixie
[[ ${FFMPEG:-static} != static ]] || "$here/sources.sh"
timed "building $image" build steps -t "$image"
timed "labelling it" label
docker image inspect -f '{{range $k, $v := .Config.Labels}}{{println $k $v}}{{end}}' "$image" |
	sed -n 's/^stream-monitor\./image:   /p' >&2
say "$image is $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB unpacked"
