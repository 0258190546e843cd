# What the scripts of this directory share; sourced by them.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # by those who source this
root=$(cd "$here/../../.." && pwd)

# Where an engine that was started here keeps its log and its process id. Without
# HOME a tilde is what the system knows as this user's.
state=${XDG_CACHE_HOME:-${HOME:-~}/.cache}/stream-monitor-image

say() { printf 'image: %s\n' "$*" >&2; }
fail() {
	say "$*"
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# quietly COMMAND… shows what it printed only when it fails.
quietly() {
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 || status=$?
	((status == 0)) || tail -n 40 "$log" >&2
	rm -f "$log"
	return "$status"
}

# timed WHAT COMMAND… says what is done, and how long it took.
timed() {
	local what=$1 began=$SECONDS
	shift
	say "$what …"
	"$@"
	say "$what: $((SECONDS - began)) s"
}

exists() { docker image inspect "$1" >/dev/null 2>&1; }

# one_at_a_time NAME: two runs at once take turns.
one_at_a_time() {
	mkdir -p "$state"
	exec 9>"$state/$1.lock"
	flock 9
}
