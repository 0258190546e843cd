#!/usr/bin/env bash
# Builds segment-decoder with the FFmpeg libraries that pkg-config finds.
#
#	decoder.sh FILE           writes the program to FILE
#	decoder.sh --static FILE  links all libraries statically, as the image needs it
#
# It needs gcc, pkg-config and the headers of libavformat, libavcodec and libavutil:
# FFmpeg 5.1 or newer.
set -euo pipefail

static=()
if [[ $1 == --static ]]; then
	static=(--static)
	shift
fi
source=${SEGMENT_DECODER_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/adapters/stream/ffmpeg/decoder/program/segment-decoder.c}
read -ra flags < <(pkg-config "${static[@]}" --cflags --libs 'libavformat >= 59.27' libavcodec libavutil)
# A run that is interrupted leaves no half of a program.
gcc -std=gnu11 -O3 -Wall -Wextra -fPIE ${static:+-static-pie} -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now -o "$1.new" "$source" "${flags[@]}" -lm
mv "$1.new" "$1"
