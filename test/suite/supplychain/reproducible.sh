#!/usr/bin/env bash
# Builds the program twice, from copies of the sources in two directories of which one is a
# repository and the other is not, and compares the bytes. Run it as "make reproducible".
#
#	FRESH=1    the second build compiles everything anew, with a cache of its own.
#	           Else both use Go's cache, whose keys tell whether an input differs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$work/first second=$work/the/second/has/a/longer/path

# copy DIRECTORY copies the sources, and the dashboard if it is built.
copy() {
	mkdir -p "$1"
	git -C "$root" ls-files -z --cached --others --exclude-standard |
		tar -C "$root" --null -T - --ignore-failed-read -c 2>/dev/null | tar -x -C "$1"
	cp -r "$root/adapters/httpapi/ui/dist" "$1/adapters/httpapi/ui/"
}
copy "$first"
copy "$second"
git -C "$second" init -q
git -C "$second" add -A
git -C "$second" -c user.name=nobody -c user.email=nobody@example.com -c commit.gpgsign=false commit -qm sources

VERSION=reproducible "$first/deploy/binary.sh" "$work/a"
[[ -z ${FRESH:-} ]] || export GOCACHE=$work/cache
# The user's flags and another time must not matter.
TZ=Asia/Tokyo GOFLAGS=-buildvcs=true VERSION=reproducible "$second/deploy/binary.sh" "$work/b"

sha256sum "$work/a" "$work/b" | sed "s,$work/,,"
cmp "$work/a" "$work/b" || {
	echo 'reproducible: two builds of the same sources differ' >&2
	exit 1
}
