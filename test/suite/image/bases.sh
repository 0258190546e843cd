#!/usr/bin/env bash
# Provides the base images of our images. It pulls them by the digests of
# deploy/base-images, or by their tags. Where no registry can be reached it builds
# stand-ins of the same names from the archive of Debian that this machine's apt uses, and
# this machine's Go. A stand-in trusts the certificate authorities that were added to this
# machine and has the label stream-monitor.stand-in. It is for tests: never push an image
# that was built on one. It is used, with a warning, until "docker rmi" removes it.
#
#	bases.sh [IMAGE…]         the named images, or all of them
#	bases.sh check [IMAGE…]   fails unless each has a digest in deploy/base-images and is
#	                          here with this digest
#	bases.sh lock             pulls all of them by their tags, and writes the digests that
#	                          the registry gave them into deploy/base-images
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec </dev/null

digests=${BASE_IMAGES:-$root/deploy/base-images}
mapfile -t all < <(sed 's/#.*//; /^ *$/d; s/ .*//' "$digests")
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

# archive LABEL prints the address from which this machine's apt gets Debian's packages (Debian)
# or their security updates (Debian-Security).
archive() { apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' "Label: $1" | sed -n 1p; }

make_debian() {
	((EUID == 0)) || fail "$1 can be neither pulled nor, without being root, made"
	have apt-get || fail "$1 can be neither pulled nor made: apt-get is missing"
	quietly apt-get -qq update
	local mirror security
	mirror=$(archive Debian)
	security=$(archive Debian-Security)
	[[ -n $mirror ]] || fail "$1 can be neither pulled nor made: apt has no archive of Debian here"
	if ! have debootstrap; then
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
	{
		printf 'deb %s trixie main\ndeb %s trixie-updates main\n' "$mirror" "$mirror"
		[[ -z $security ]] || printf 'deb %s trixie-security main\n' "$security"
	} >"$system/etc/apt/sources.list"
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

stand_in() { [[ -n $(docker image inspect -f '{{index .Config.Labels "stream-monitor.stand-in"}}' "$1") ]]; }

# warn prints a warning if the image is a stand-in.
warn() {
	! stand_in "$1" || say "$1 is a stand-in made here; docker rmi $1 before real use"
}

# wanted_digest prints the digest that deploy/base-images has of the image, if it has one.
wanted_digest() { awk -v name="$1" '$1 == name { print $2 }' "$digests"; }

# has_digest IMAGE DIGEST reports whether the registry gave the local image this digest.
has_digest() { docker image inspect -f '{{range .RepoDigests}}{{println .}}{{end}}' "$1" | grep -q "@$2\$"; }

# pull pulls the image by its digest, if deploy/base-images has one, and gives it its tag.
pull() {
	local digest
	digest=$(wanted_digest "$1")
	if [[ -z $digest ]]; then
		timeout 600 docker pull -q "$1"
	else
		timeout 600 docker pull -q "${1%%:*}@$digest" && docker tag "${1%%:*}@$digest" "$1"
	fi
}

check() {
	local digest
	digest=$(wanted_digest "$1")
	[[ -n $digest ]] || fail "deploy/base-images has no digest of $1: run \"make lock-images\""
	exists "$1" && has_digest "$1" "$digest" || fail "$1 is not here with the digest $digest"
}

# lock prints deploy/base-images with the digests of now.
lock() {
	local name _ digest
	grep '^#' "$digests"
	while read -r name _; do
		digest=$(timeout 600 docker pull "$name" </dev/null | sed -n 's/^Digest: \(sha256:[0-9a-f]\{64\}\)$/\1/p') || fail "$name cannot be pulled"
		[[ -n $digest ]] || fail "the registry gave $name no digest"
		echo "$name $digest"
	done < <(printf '%s\n' "${all[@]}")
}

# here_already reports whether nothing is to be pulled: the image is here, and it has the
# wanted digest, if there is one. A stand-in, which can have none, is used until it is removed.
here_already() {
	local digest
	exists "$1" || return
	digest=$(wanted_digest "$1")
	[[ -z $digest ]] || stand_in "$1" || has_digest "$1" "$digest"
}

ensure() {
	here_already "$1" && return
	say "pulling $1 …"
	pull "$1" >/dev/null 2>&1 && return
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
case ${1:-} in
lock)
	new=$(mktemp)
	lock >"$new"
	cat "$new" >"$digests"
	rm -f "$new"
	;;
check)
	shift
	for image in "${@:-${all[@]}}"; do check "$image"; done
	;;
*)
	for image in "${@:-${all[@]}}"; do
		ensure "$image"
		warn "$image"
	done
	;;
esac
