#!/bin/bash
# Builds the image's ffmpeg: static, with only the features that adapters/stream/ffmpeg
# uses, and the libraries for its segment-decoder. ffmpeg starts in 2 ms and takes 14 MB; a
# distribution's ffmpeg takes 47 ms and 50 MB. Untrusted input reaches less code: no
# network, no files (the only protocol is pipe), no codecs beside those of live streams.
#
#	ffmpeg.sh FILE   builds it of the source packages of FFmpeg and dav1d that FILE records;
#	                 FFmpeg's own AV1 decoder needs a GPU, dav1d does not
#
# It takes them from Debian with debian-source.sh, which is beside it.
set -euo pipefail

# record NAME prints the record of a source package.
record() { grep "^$1 " "$sources"; }

# version NAME prints the version of a source package.
version() { record "$1" | cut -d ' ' -f 2; }

# Hardening, because the input is untrusted.
hardening="-O2 -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"

build_dav1d() {
	CFLAGS=$hardening meson setup dav1d/build dav1d --prefix /opt/dav1d --libdir lib --buildtype release \
		--default-library static -Denable_tools=false -Denable_tests=false >dav1d.log || { tail -n 40 dav1d.log; return 1; }
	ninja -C dav1d/build install >>dav1d.log || { tail -n 40 dav1d.log; return 1; }
}

# join NAME… joins its arguments with commas.
join() {
	local IFS=,
	echo "$*"
}

build_ffmpeg() {
	# Containers of segments (adapters/stream/ffmpeg, container.go), and those that
	# ffmpeg probes MPEG-TS tracks of unknown type with.
	local demuxers=(mpegts mov aac mp3 ogg h264 hevc mpegvideo ac3 eac3 loas)
	# The codecs of docs/streams.md, and others that HLS and MPEG-TS allow.
	local decoders=(h264 hevc vp9 libdav1d mpeg1video mpeg2video mpeg4
		aac aac_latm opus vorbis mp3float mp2float ac3 eac3 flac)
	local parsers=(h264 hevc vp9 av1 mpegvideo mpeg4video aac aac_latm opus mpegaudio ac3 flac)
	# The filters of adapters/stream/ffmpeg, command.go; then those that ffmpeg inserts
	# by itself: for other pixel and sample formats, and for a rotated picture.
	local filters=(blackdetect silencedetect signalstats astats metadata ametadata select aselect
		null anull format aformat scale aresample trim atrim setpts asetpts
		transpose hflip vflip rotate crop)
	# Pictures and clips of evidence (adapters/stream/ffmpeg, capturer.go). A clip is
	# not encoded again; two bitstream filters make what MP4 wants of MPEG-TS.
	local encoders=(wrapped_avframe pcm_s16le mjpeg)
	local muxers=(null mjpeg mp4)
	local bsfs=(aac_adtstoasc extract_extradata)
	# Without iconv, which would convert program names in MPEG-TS: a static libc loads
	# its tables as modules of the libc that is installed, and crashes.
	local revision
	revision=$(version ffmpeg)
	cd ffmpeg
	PKG_CONFIG_PATH=/opt/dav1d/lib/pkgconfig ./configure \
		--prefix=/opt/ffmpeg --pkg-config-flags=--static \
		--extra-cflags="$hardening" --enable-pic --extra-ldflags='-Wl,-z,relro,-z,now' --extra-ldexeflags=-static-pie \
		--extra-version="${revision##*-}" --disable-everything --disable-autodetect --disable-iconv --disable-network --disable-debug --disable-doc \
		--disable-programs --enable-ffmpeg --disable-avdevice --disable-postproc --enable-libdav1d \
		--enable-protocol=pipe --enable-demuxer="$(join "${demuxers[@]}")" --enable-decoder="$(join "${decoders[@]}")" \
		--enable-parser="$(join "${parsers[@]}")" --enable-filter="$(join "${filters[@]}")" \
		--enable-muxer="$(join "${muxers[@]}")" --enable-encoder="$(join "${encoders[@]}")" --enable-bsf="$(join "${bsfs[@]}")" \
		>../configure.log 2>&1 || { tail -n 40 ../configure.log ffbuild/config.log; return 1; }
	make -j"$(nproc)" >../make.log 2>&1 || { tail -n 60 ../make.log; return 1; }
	make install >>../make.log
	cd ..
}

# notices collects what the licences of FFmpeg (LGPL) and dav1d require beside the
# binary: their texts, the sources, and how it was built.
notices() {
	install -d /opt/ffmpeg/doc
	install -m 644 ffmpeg/COPYING.LGPLv2.1 ffmpeg/LICENSE.md "$script" "${script%/*}/debian-source.sh" "$sources" /opt/ffmpeg/doc/
	install -m 644 dav1d/COPYING /opt/ffmpeg/doc/COPYING.dav1d
	cat >/opt/ffmpeg/doc/README <<-END
		/usr/local/bin/ffmpeg is FFmpeg with the changes of Debian, under the GNU Lesser General
		Public License 2.1 or later: COPYING.LGPLv2.1, LICENSE.md. Linked into it are dav1d with the
		changes of Debian, under the BSD 2-clause licence: COPYING.dav1d; and Debian's glibc
		$(dpkg-query -W -f '${source:Version}' libc6-dev), under the same LGPL: /usr/share/doc/libc6/copyright.

		/usr/local/bin/segment-decoder is linked with the same libraries: decoder.sh, here,
		made it from segment-decoder.c and the .h files, here.

		ffmpeg.sh, here, made ffmpeg in a container of debian:trixie-slim, of Debian's source
		packages. ${sources##*/}, here, has the SHA-256 of their .dsc. On Debian, these get them:

		apt-get source dav1d=$(version dav1d)
		apt-get source ffmpeg=$(version ffmpeg)

		It configured FFmpeg with

		$(/opt/ffmpeg/bin/ffmpeg -hide_banner -version | sed -n 's/^configuration: //p')
	END
}

# status NAME describes what is linked into the binaries as the package of Debian that it
# is. dpkg does not read it; what lists the parts of an image and looks for their
# vulnerabilities does.
status() {
	install -d /opt/ffmpeg/status.d
	cat >"/opt/ffmpeg/status.d/$1" <<-END
		Package: $1
		Status: install ok installed
		Architecture: $(dpkg --print-architecture)
		Version: $(version "$1")
		Description: the part of it that ffmpeg and segment-decoder in /usr/local/bin need
	END
}

script=$(realpath "${BASH_SOURCE[0]}")
sources=$(realpath "$1")
cd "$(mktemp -d)"
echo 'ffmpeg: fetching the sources' >&2
"${script%/*}/debian-source.sh" unpack "$(record dav1d)" "$(record ffmpeg)"
echo 'ffmpeg: building dav1d' >&2
build_dav1d
echo 'ffmpeg: building ffmpeg (about 2 minutes on 2 cores)' >&2
build_ffmpeg
strip --strip-all /opt/ffmpeg/bin/ffmpeg
notices
status dav1d
status ffmpeg
/opt/ffmpeg/bin/ffmpeg -hide_banner -version
