#!/usr/bin/env bash
# Builds what a release offers, for Linux on amd64 and arm64, into dist/: the program with
# tool-launcher, the Helm chart, and SHA256SUMS of them. VERSION is the release's tag, such as
# v1.2.3. Needs gcc for both architectures (on Debian gcc and gcc-aarch64-linux-gnu, or
# gcc-x86-64-linux-gnu on arm64), helm, and the dashboard built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ ${VERSION:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || {
	echo "release: VERSION is '${VERSION:-}', want a tag such as v1.2.3" >&2
	exit 2
}
declare -A compilers=([amd64]=x86_64-linux-gnu-gcc [arm64]=aarch64-linux-gnu-gcc)
for arch in "${!compilers[@]}"; do
	command -v "${compilers[$arch]}" >/dev/null || {
		echo "release: ${compilers[$arch]} is missing; on Debian: apt-get install gcc-x86-64-linux-gnu gcc-aarch64-linux-gnu" >&2
		exit 2
	}
done

rm -rf dist
for arch in "${!compilers[@]}"; do
	name=stream-monitor-$VERSION-linux-$arch
	mkdir -p "dist/$name"
	echo "release: $name"
	GOARCH=$arch deploy/binary.sh "dist/$name/stream-monitor"
	CC=${compilers[$arch]} adapters/internal/subprocess/launcher/build.sh "dist/$name/tool-launcher"
	cp LICENSE README.md CHANGELOG.md "dist/$name/"
	# The same names, owners, times and order give the same bytes.
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX -C dist -c "$name" | gzip -n >"dist/$name.tar.gz"
	rm -r "dist/$name"
done
helm package deploy/helm/stream-monitor --version "${VERSION#v}" --app-version "${VERSION#v}" -d dist >/dev/null
(cd dist && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
