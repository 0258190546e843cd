#!/usr/bin/env bash
# Sees to it that there is a container engine with buildx and compose: installs
# Debian's docker.io when there is none and this is root, starts its daemon when
# none answers, and takes the two plugins from Debian when the client has none.
# A second run takes a blink.
#
#	engine.sh            as above
#	engine.sh able       succeeds without a word, or says in one line why there can
#	                     be no engine here; after a success a failure is a failure
#	engine.sh running    succeeds when a daemon answers
#	engine.sh stop       ends the daemon that this script has started; who found one
#	                     running leaves it to whoever started it
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec </dev/null

plugins=${DOCKER_CONFIG:-${HOME:-~}/.docker}/cli-plugins
patience=60 # seconds for a daemon to answer

answers() { docker version >/dev/null 2>&1; }

# able fails with the first thing that neither this script nor a dockerd can do
# without. What a daemon that answers already needs is not asked.
able() {
	answers && return
	[[ $(uname -s) == Linux ]] || fail "no docker daemon answers, and one can be started on Linux only"
	((EUID == 0)) || fail "no docker daemon answers, and only root could start one"
	have dockerd || have apt-get || fail "there is neither docker nor an apt-get to install it with"
	[[ -f /sys/fs/cgroup/cgroup.controllers || -d /sys/fs/cgroup/memory ]] || fail "no docker daemon answers, and there are no control groups for one"
	[[ -w /sys/fs/cgroup ]] || fail "no docker daemon answers, and the control groups are read-only here (a container?)"
	[[ -w /proc/sys/net/ipv4/ip_forward ]] || fail "no docker daemon answers, and the kernel's settings are read-only here (a container?)"
	unshare --mount true 2>/dev/null || fail "no docker daemon answers, and no namespaces may be made here"
}

install_engine() {
	((EUID == 0)) || fail "there is no docker here. Install it, for example: apt-get install docker.io"
	have apt-get || fail "there is neither docker nor apt-get here: install docker by other means"
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
	# What a package starts by itself is this script's business: see below.
	quietly "${apt[@]}" update || fail "apt-get update failed"
	quietly "${apt[@]}" install -y --no-install-recommends docker.io iptables || fail "apt-get could not install docker.io"
}

start_daemon() {
	((EUID == 0)) || fail "no docker daemon answers. Start it, for example: sudo systemctl start docker"
	have dockerd || install_engine
	answers && return
	mkdir -p "$state"
	setsid dockerd </dev/null >"$state/dockerd.log" 2>&1 9>&- &
	echo $! >"$state/dockerd.pid"
	for ((i = 0; i < patience * 5; i++)); do
		answers && return
		kill -0 "$(<"$state/dockerd.pid")" 2>/dev/null || break
		sleep 0.2
	done
	tail -n 20 "$state/dockerd.log" >&2
	fail "dockerd did not come up; its last words are above, all of them in $state/dockerd.log"
}

stop_daemon() {
	local pid
	pid=$(cat "$state/dockerd.pid" 2>/dev/null) || return 0
	[[ $(readlink "/proc/$pid/exe") == */dockerd ]] || return 0
	say "stopping the daemon that was started here"
	kill "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
	rm -f "$state/dockerd.pid"
}

# Debian's own apt, in a container of the release that has them, so that what is
# downloaded is authenticated.
take_plugins() {
	local dir container
	"$here/bases.sh" debian:trixie-slim
	dir=$(mktemp -d)
	container=$(docker create debian:trixie-slim sh -c '
		cd /tmp && apt-get -qq update && apt-get -qq download docker-buildx docker-compose &&
		for deb in *.deb; do dpkg -x "$deb" plugins; done')
	if ! quietly docker start -a "$container" || ! docker cp "$container:/tmp/plugins/." "$dir" >/dev/null; then
		docker rm -f "$container" >/dev/null
		rm -rf "$dir"
		fail "buildx and compose are missing and could not be had from Debian. Install docker's plugins docker-buildx and docker-compose"
	fi
	docker rm "$container" >/dev/null
	mkdir -p "$plugins"
	find "$dir" -path '*/cli-plugins/*' -type f -exec install -m 755 {} "$plugins/" \;
	rm -rf "$dir"
}

case ${1:-start} in
able)
	able
	exit
	;;
running)
	answers
	exit
	;;
stop)
	stop_daemon
	exit
	;;
start) ;;
*) fail "engine.sh knows able, running and stop, not $1" ;;
esac
one_at_a_time engine
have docker || timed "installing docker.io from Debian" install_engine
answers || timed "starting dockerd" start_daemon
if ! docker buildx version >/dev/null 2>&1 || ! docker compose version >/dev/null 2>&1; then
	timed "taking buildx and compose from Debian" take_plugins
	docker buildx version >/dev/null || fail "buildx does not run"
	docker compose version >/dev/null || fail "compose does not run"
fi
