#!/usr/bin/env bash
# Records in deploy/ffmpeg-sources of which source packages the image's ffmpeg is made. The
# apt of the base image says which Debian has.
#
#	sources.sh         records the newest if Debian no longer has one of those recorded, as
#	                   after an update for security
#	sources.sh lock    records the newest
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

records=${FFMPEG_SOURCES:-$root/deploy/ffmpeg-sources}
mapfile -t recorded < <(grep -v '^#' "$records")

debian() { docker run --rm -i debian:trixie-slim bash -s "$@" <"$root/deploy/debian-source.sh"; }

if [[ ${1:-} != lock ]]; then
	debian offered "${recorded[@]}" && exit
	say "Debian no longer has a source in deploy/ffmpeg-sources: recording the newest ones"
fi
new=$(grep '^#' "$records" && debian newest "${recorded[@]%% *}")
echo "$new" >"$records"
