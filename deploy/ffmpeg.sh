#!/bin/bash
# Builds the ffmpeg of the image: static, with what adapters/stream/ffmpeg asks for and
# nothing else. It starts in 2 ms and 14 MB where a distribution's takes 47 ms
# and 50 MB, and it lacks what strangers' bytes could otherwise reach: no network,
# no files (its one protocol is a pipe), no codec that no live stream has.
#
# Both sources are released tarballs, byte for byte: Debian distributes the same
# ones, with the projects' own signatures, which were verified when these sums
# were written down (FFmpeg: FCF986EA15E6E293A5644F10B4322F04D67658D8, VideoLAN:
# 65F7C6B4206BD057A7EB73787180713BE58D1ADC).
set -euo pipefail

ffmpeg=7.1.5
ffmpeg_sha256=de668509caf9e35e3cd162473441fdb29538c6d96ed080292b3cf9e6fc5d558f
ffmpeg_sha1=280615051f0546371d20d8b119f3ff357e0fb948 # by which snapshot.debian.org knows it

# FFmpeg's own AV1 decoder needs a graphics card; dav1d does not.
dav1d=1.5.1
dav1d_sha256=401813f1f89fa8fd4295805aa5284d9aed9bc7fc1fdbe554af4292f64cbabe21
dav1d_sha1=eaefdc760c0eb26f7b6546eeb9e45aa9cf0dbc55

archive=http://deb.debian.org/debian/pool/main
snapshot=https://snapshot.debian.org/file

# fetch NAME VERSION SHA256 URL… unpacks the first that can be had; the sum decides,
# not where it came from.
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
	echo "ffmpeg: $name with the sum $sum could not be had" >&2
	return 1
}

# A decoder of strangers' bytes has its addresses and its stack guarded.
guards="-O2 -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"

build_dav1d() {
	CFLAGS=$guards meson setup dav1d/build dav1d --prefix /opt/dav1d --libdir lib --buildtype release \
		--default-library static -Denable_tools=false -Denable_tests=false >dav1d.log || { tail -n 40 dav1d.log; return 1; }
	ninja -C dav1d/build install >>dav1d.log || { tail -n 40 dav1d.log; return 1; }
}

# join NAME… is its arguments as configure wants them.
join() {
	local IFS=,
	echo "$*"
}

build_ffmpeg() {
	# Of a segment (adapters/stream/ffmpeg, container.go), and what tells apart the
	# tracks in MPEG-TS whose program map does not say what they are.
	local demuxers=(mpegts mov aac mp3 h264 hevc mpegvideo ac3 eac3 loas)
	# Those of docs/streams.md, and those which HLS and MPEG-TS allow beside them.
	local decoders=(h264 hevc vp9 libdav1d mpeg1video mpeg2video mpeg4
		aac aac_latm opus mp3float mp2float ac3 eac3 flac)
	local parsers=(h264 hevc vp9 av1 mpegvideo mpeg4video aac aac_latm opus mpegaudio ac3 flac)
	# The arguments of adapters/stream/ffmpeg, command.go; then what ffmpeg puts in by
	# itself: for another pixel or sample format, and for a turned picture.
	local filters=(blackdetect silencedetect metadata ametadata select aselect
		null anull format aformat scale aresample trim atrim setpts asetpts
		transpose hflip vflip rotate crop)
	# Without iconv, which names of programs in MPEG-TS would go through: a static
	# libc loads its tables as modules of whatever libc it finds, and crashes.
	cd ffmpeg
	PKG_CONFIG_PATH=/opt/dav1d/lib/pkgconfig ./configure \
		--prefix=/opt/ffmpeg --pkg-config-flags=--static \
		--extra-cflags="$guards" --enable-pic --extra-ldflags='-Wl,-z,relro,-z,now' --extra-ldexeflags=-static-pie \
		--disable-everything --disable-autodetect --disable-iconv --disable-network --disable-debug --disable-doc \
		--disable-programs --enable-ffmpeg --disable-avdevice --disable-postproc --enable-libdav1d \
		--enable-protocol=pipe --enable-demuxer="$(join "${demuxers[@]}")" --enable-decoder="$(join "${decoders[@]}")" \
		--enable-parser="$(join "${parsers[@]}")" --enable-filter="$(join "${filters[@]}")" \
		--enable-muxer=null --enable-encoder=wrapped_avframe,pcm_s16le \
		>../configure.log 2>&1 || { tail -n 40 ../configure.log ffbuild/config.log; return 1; }
	make -j"$(nproc)" >../make.log 2>&1 || { tail -n 60 ../make.log; return 1; }
	make install >>../make.log
	cd ..
}

# What the LGPL and dav1d's licence want to go with the binary: their texts, of
# what it was made, and how.
notices() {
	install -d /opt/ffmpeg/doc
	install -m 644 ffmpeg/COPYING.LGPLv2.1 ffmpeg/LICENSE.md "$script" /opt/ffmpeg/doc/
	install -m 644 dav1d/COPYING /opt/ffmpeg/doc/COPYING.dav1d
	cat - sources >/opt/ffmpeg/doc/README <<-END
		/usr/local/bin/ffmpeg is FFmpeg, unchanged, under the GNU Lesser General Public
		License 2.1 or later: COPYING.LGPLv2.1, LICENSE.md. Linked into it are dav1d,
		unchanged, under the BSD 2-clause licence: COPYING.dav1d; and Debian's glibc
		$(dpkg-query -W -f '${source:Version}' libc6-dev), under the same LGPL: /usr/share/doc/libc6/copyright.

		ffmpeg.sh, here, made it in a container of debian:trixie-slim. It configured
		FFmpeg with

		$(/opt/ffmpeg/bin/ffmpeg -hide_banner -version | sed -n 's/^configuration: //p')

		The sources, each to be had from any of these addresses:

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
