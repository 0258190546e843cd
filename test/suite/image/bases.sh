#!/usr/bin/env bash
# Provides the base images of our images. It pulls them. Where no registry can be
# reached it builds stand-ins of the same names from Debian's archive and this
# machine's Go. A stand-in trusts the certificate authorities that were added to this
# machine and has the label stream-monitor.stand-in. It is for tests: never push an
# image that was built on one. It is used, with a warning, until "docker rmi" removes it.
#
#	bases.sh [IMAGE…]    the named images, or all of them
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec </dev/null

all=(debian:trixie-slim golang:1.26-trixie postgres:17-trixie)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
label='LABEL stream-monitor.stand-in=yes'

# The official slim image leaves out the same files.
slim='
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/lintian/*
'

make_debian() {
	((EUID == 0)) || fail "$1 can be neither pulled nor, without being root, made"
	if ! have debootstrap; then
		have apt-get || fail "$1 can be neither pulled nor made: debootstrap is missing"
		quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq update
		quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap
	fi
	local work
	work=$(mktemp -d)
	if ! quietly debootstrap --variant=minbase trixie "$work/system" "$mirror"; then
		rm -rf "$work"
		fail "debootstrap could not make $1"
	fi
	local system=$work/system
	printf '%s' "$slim" >"$system/etc/dpkg/dpkg.cfg.d/docker"
	echo 'Acquire::Languages "none";' >"$system/etc/apt/apt.conf.d/docker-no-languages"
	echo 'APT::Install-Recommends "false"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";' >"$system/etc/apt/apt.conf.d/docker-lean"
	printf 'deb %s trixie main\ndeb %s trixie-updates main\ndeb %s-security trixie-security main\n' \
		"$mirror" "$mirror" "$mirror" >"$system/etc/apt/sources.list"
	find "$system"/usr/share/doc -type f ! -name copyright -delete
	rm -rf "$system"/var/cache/apt/* "$system"/var/lib/apt/lists/* "$system"/var/log/* \
		"$system"/usr/share/{man,info,locale,lintian}/* "$system"/tmp/*
	mkdir -p "$system/var/cache/apt/archives/partial"
	# update-ca-certificates then trusts them, once ca-certificates is installed.
	if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
		install -D -m 644 -t "$system/usr/local/share/ca-certificates" /usr/local/share/ca-certificates/*.crt
	fi
	tar -C "$system" --numeric-owner -c . | docker import -c 'CMD ["bash"]' -c "$label" - "$1" >/dev/null
	rm -rf "$work"
}

make_golang() {
	have go || fail "$1 can be neither pulled nor, without Go, made"
	local want=${1#*:} goroot
	want=${want%%-*}
	goroot=$(go env GOROOT)
	[[ $(go env GOVERSION) == go"$want"* ]] || fail "$1 cannot be pulled, and this machine has $(go env GOVERSION)"
	local work
	work=$(mktemp -d)
	cat >"$work/Dockerfile" <<-END
		FROM debian:trixie-slim
		RUN apt-get -qq update && apt-get -qq install -y ca-certificates git >/dev/null && rm -rf /var/lib/apt/lists/*
		COPY go /usr/local/go
		ENV GOTOOLCHAIN=local GOPATH=/go PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		WORKDIR /go
		$label
	END
	tar -c -C "$work" Dockerfile -C "$(dirname "$goroot")" --exclude go/test --exclude 'testdata' \
		--transform "s,^$(basename "$goroot"),go," "$(basename "$goroot")" >"$work/context"
	quietly docker build -t "$1" - <"$work/context" || {
		rm -rf "$work"
		fail "docker could not build $1"
	}
	rm -rf "$work"
}

make_postgres() {
	local work
	work=$(mktemp -d)
	cp "$here/postgres/"* "$work/"
	echo "$label" >>"$work/Dockerfile"
	quietly docker build -t "$1" "$work" || {
		rm -rf "$work"
		fail "docker could not build $1"
	}
	rm -rf "$work"
}

# warn prints a warning if the image is a stand-in.
warn() {
	[[ -z $(docker image inspect -f '{{index .Config.Labels "stream-monitor.stand-in"}}' "$1") ]] ||
		say "$1 is a stand-in made here; docker rmi $1 before real use"
}

ensure() {
	exists "$1" && return
	say "pulling $1 …"
	timeout 600 docker pull -q "$1" >/dev/null 2>&1 && return
	case $1 in
	debian:*) timed "it cannot be pulled: making $1 from Debian's archive" make_debian "$1" ;;
	golang:*)
		ensure debian:trixie-slim
		timed "it cannot be pulled: making $1 from this machine's Go" make_golang "$1"
		;;
	postgres:*)
		ensure debian:trixie-slim
		timed "it cannot be pulled: making $1 from Debian's PostgreSQL" make_postgres "$1"
		;;
	*) fail "$1 cannot be pulled" ;;
	esac
}

one_at_a_time bases
for image in "${@:-${all[@]}}"; do
	ensure "$image"
	warn "$image"
done
