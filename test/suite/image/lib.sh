# Shared by the scripts of this folder, which source it.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # by those who source this
root=$(cd "$here/../../.." && pwd)

# Directory for the log and the pid of an engine that was started here. Without HOME a
# tilde is the home directory of the password database.
state=${XDG_CACHE_HOME:-${HOME:-~}/.cache}/stream-monitor-image

say() { printf 'image: %s\n' "$*" >&2; }
fail() {
	say "$*"
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# quietly COMMAND… shows the output only when the command fails.
quietly() {
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 || status=$?
	((status == 0)) || tail -n 40 "$log" >&2
	rm -f "$log"
	return "$status"
}

# timed WHAT COMMAND… prints WHAT before the command, and how long it took after it.
timed() {
	local what=$1 began=$SECONDS
	shift
	say "$what …"
	"$@"
	say "$what: $((SECONDS - began)) s"
}

exists() { docker image inspect "$1" >/dev/null 2>&1; }

# one_at_a_time NAME waits until no other run holds the lock NAME.
one_at_a_time() {
	mkdir -p "$state"
	exec 9>"$state/$1.lock"
	flock 9
}
