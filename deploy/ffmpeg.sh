#!/bin/bash
# Builds the image's ffmpeg: static, with only the features that
# adapters/stream/ffmpeg uses, and the libraries for its segment-decoder. ffmpeg starts in 2 ms and takes 14 MB; a distribution's
# ffmpeg takes 47 ms and 50 MB. Untrusted input reaches less code: no network, no
# files (the only protocol is pipe), no codecs beside those of live streams.
#
# The sources are release tarballs; Debian distributes the same bytes. The projects'
# signatures were verified when the checksums were recorded (FFmpeg:
# FCF986EA15E6E293A5644F10B4322F04D67658D8, VideoLAN:
# 65F7C6B4206BD057A7EB73787180713BE58D1ADC).
set -euo pipefail

ffmpeg=7.1.5
ffmpeg_sha256=de668509caf9e35e3cd162473441fdb29538c6d96ed080292b3cf9e6fc5d558f
ffmpeg_sha1=280615051f0546371d20d8b119f3ff357e0fb948 # identifies the file at snapshot.debian.org

# FFmpeg's own AV1 decoder needs a GPU; dav1d does not.
dav1d=1.5.1
dav1d_sha256=401813f1f89fa8fd4295805aa5284d9aed9bc7fc1fdbe554af4292f64cbabe21
dav1d_sha1=eaefdc760c0eb26f7b6546eeb9e45aa9cf0dbc55

archive=http://deb.debian.org/debian/pool/main
snapshot=https://snapshot.debian.org/file

# fetch NAME VERSION SHA256 URL… downloads and unpacks a tarball from the first URL
# whose content has the checksum.
fetch() {
	local name=$1 version=$2 sum=$3 url
	shift 3
	{
		printf '%s %s, sha256 %s\n' "$name" "$version" "$sum"
		printf '\t%s\n' "$@"
	} >>sources
	for url; do
		echo "ffmpeg: fetching $url" >&2
		curl -fsSL --retry 2 --connect-timeout 20 --max-time 300 -o "$name.tar.xz" "$url" || continue
		echo "$sum  $name.tar.xz" | sha256sum -c --quiet - || continue
		mkdir -p "$name"
		tar -xJf "$name.tar.xz" -C "$name" --strip-components 1
		return
	done
	echo "ffmpeg: no URL has $name with the sha256 $sum; see the errors above" >&2
	return 1
}

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
	local demuxers=(mpegts mov aac mp3 h264 hevc mpegvideo ac3 eac3 loas)
	# The codecs of docs/streams.md, and others that HLS and MPEG-TS allow.
	local decoders=(h264 hevc vp9 libdav1d mpeg1video mpeg2video mpeg4
		aac aac_latm opus mp3float mp2float ac3 eac3 flac)
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
	cd ffmpeg
	PKG_CONFIG_PATH=/opt/dav1d/lib/pkgconfig ./configure \
		--prefix=/opt/ffmpeg --pkg-config-flags=--static \
		--extra-cflags="$hardening" --enable-pic --extra-ldflags='-Wl,-z,relro,-z,now' --extra-ldexeflags=-static-pie \
		--disable-everything --disable-autodetect --disable-iconv --disable-network --disable-debug --disable-doc \
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
	install -m 644 ffmpeg/COPYING.LGPLv2.1 ffmpeg/LICENSE.md "$script" /opt/ffmpeg/doc/
	install -m 644 dav1d/COPYING /opt/ffmpeg/doc/COPYING.dav1d
	cat - sources >/opt/ffmpeg/doc/README <<-END
		/usr/local/bin/ffmpeg is FFmpeg, unchanged, under the GNU Lesser General Public
		License 2.1 or later: COPYING.LGPLv2.1, LICENSE.md. Linked into it are dav1d,
		unchanged, under the BSD 2-clause licence: COPYING.dav1d; and Debian's glibc
		$(dpkg-query -W -f '${source:Version}' libc6-dev), under the same LGPL: /usr/share/doc/libc6/copyright.

		/usr/local/bin/segment-decoder is linked with the same libraries: decoder.sh, here,
		made it from segment-decoder.c, here.

		ffmpeg.sh, here, made ffmpeg in a container of debian:trixie-slim. It configured
		FFmpeg with

		$(/opt/ffmpeg/bin/ffmpeg -hide_banner -version | sed -n 's/^configuration: //p')

		The sources; each address of a source has the same file:

	END
}

script=$(realpath "${BASH_SOURCE[0]}")
work=$(mktemp -d)
cd "$work"
fetch dav1d "$dav1d" "$dav1d_sha256" \
	"https://download.videolan.org/pub/videolan/dav1d/$dav1d/dav1d-$dav1d.tar.xz" \
	"$archive/d/dav1d/dav1d_$dav1d.orig.tar.xz" "$snapshot/$dav1d_sha1"
fetch ffmpeg "$ffmpeg" "$ffmpeg_sha256" \
	"https://ffmpeg.org/releases/ffmpeg-$ffmpeg.tar.xz" \
	"$archive/f/ffmpeg/ffmpeg_$ffmpeg.orig.tar.xz" "$snapshot/$ffmpeg_sha1"
echo 'ffmpeg: building dav1d' >&2
build_dav1d
echo 'ffmpeg: building ffmpeg (about 2 minutes on 2 cores)' >&2
build_ffmpeg
strip --strip-all /opt/ffmpeg/bin/ffmpeg
notices
/opt/ffmpeg/bin/ffmpeg -hide_banner -version
