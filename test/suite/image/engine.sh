#!/usr/bin/env bash
# Provides a container engine with buildx and compose. As root it installs Debian's
# docker.io if docker is missing, and starts the daemon if none answers. It takes
# missing plugins from Debian.
#
#	engine.sh            as above
#	engine.sh able       checks whether an engine can run here: succeeds silently, or
#	                     prints the reason in one line
#	engine.sh running    succeeds when a daemon answers
#	engine.sh stop       stops the daemon if this script has started it
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec </dev/null

plugins=${DOCKER_CONFIG:-${HOME:-~}/.docker}/cli-plugins
start_timeout=60 # seconds until the daemon must answer

answers() { docker version >/dev/null 2>&1; }

# able fails with the first missing requirement of this script or of dockerd. It checks
# nothing when a daemon answers.
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
	for ((i = 0; i < start_timeout * 5; i++)); do
		answers && return
		kill -0 "$(<"$state/dockerd.pid")" 2>/dev/null || break
		sleep 0.2
	done
	tail -n 20 "$state/dockerd.log" >&2
	fail "dockerd did not start; the end of its log is above, the whole log is $state/dockerd.log"
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

# apt in a Debian container downloads the plugins, so that they are authenticated.
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
		fail "buildx and compose are missing and could not be downloaded from Debian. Install docker's plugins docker-buildx and docker-compose"
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
*) fail "unknown command $1; engine.sh has able, running and stop" ;;
esac
one_at_a_time engine
have docker || timed "installing docker.io from Debian" install_engine
answers || timed "starting dockerd" start_daemon
if ! docker buildx version >/dev/null 2>&1 || ! docker compose version >/dev/null 2>&1; then
	timed "taking buildx and compose from Debian" take_plugins
	docker buildx version >/dev/null || fail "buildx does not run"
	docker compose version >/dev/null || fail "compose does not run"
fi
