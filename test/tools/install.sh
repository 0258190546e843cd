#!/usr/bin/env bash
# Installs the tools that stream-monitor calls: ffmpeg and the PostgreSQL server
# from Debian; yt-dlp, streamlink and deno from PyPI into .tools/venv; where the system
# has no Node.js 20, Node.js from PyPI into .tools/node, which builds the dashboard. What
# comes from PyPI has the releases and hashes of a lock file (lock.sh). Only
# what is missing is installed, so a second run ends at once. segment-decoder is built
# into .tools/bin; tool-launcher, which "make build" builds, needs the same gcc. Run it as "make tools".
#
#	install.sh           as above
#	install.sh api       also schemathesis, into .tools/api-venv, for "make test-api"
#	install.sh browser   also Chromium's headless shell and fonts, from Debian, for the tests of the dashboard
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
oldest_python='(3, 11)' # of test/tools/lock.sh
extra=${1:-}

say() { printf 'tools: %s\n' "$*" >&2; }
fail() {
	say "$*"
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Any version of the server is accepted. Debian does not put it into PATH.
have_postgres() {
	have initdb && have postgres && return
	local initdb
	for initdb in /usr/lib/postgresql/*/bin/initdb; do
		[[ -x $initdb && -x ${initdb%initdb}postgres ]] && return
	done
	return 1
}

# The headless shell takes half of the CPU time of the others.
have_browser() { have chromium-headless-shell || have chromium || have google-chrome || have chromium-browser; }

# The dashboard is built with Node.js 20 or newer (adapters/httpapi/ui/build.sh).
have_node() {
	have npm && [[ $(node --version 2>/dev/null) =~ ^v([0-9]+)\. ]] && ((BASH_REMATCH[1] >= 20))
}

# tool-launcher needs the headers of Linux.
have_compiler() { have gcc && gcc -E - <<<'#include <linux/filter.h>' >/dev/null 2>&1; }

# Prints the first python that is new enough and can make a virtual environment
# with pip, which Debian packages separately as python3-venv.
find_python() {
	local python
	for python in python3 /usr/bin/python3 python3.{14,13,12,11}; do
		if have "$python" && "$python" -c "
import ensurepip, sys, venv
sys.exit(sys.version_info < $oldest_python)" >/dev/null 2>&1; then
			command -v "$python"
			return
		fi
	done
	return 1
}

# Debian's server package would create a database cluster and start it at boot.
# This project runs its own servers.
without_cluster() {
	local conf=/etc/postgresql-common/createcluster.d/stream-monitor-tools.conf
	"${as_root[@]}" mkdir -p "${conf%/*}"
	echo 'create_main_cluster = false' | "${as_root[@]}" tee "$conf" >/dev/null
	local status=0
	"$@" || status=$?
	"${as_root[@]}" rm -f "$conf"
	return "$status"
}

install_debian() {
	local missing=()
	have ffmpeg || missing+=(ffmpeg)
	have_postgres || missing+=(postgresql)
	find_python >/dev/null || missing+=(python3-venv)
	[[ -x /usr/sbin/pgbouncer ]] || have pgbouncer || missing+=(pgbouncer)
	have_compiler || missing+=(gcc libc6-dev)
	[[ $extra != browser ]] || have_browser || missing+=(chromium-headless-shell fonts-noto-cjk)
	((${#missing[@]})) || return 0

	have apt-get || fail "missing: ${missing[*]} (Debian's names), and there is no apt-get. Install them by other means, then run \"make tools\" again."
	as_root=()
	if ((EUID != 0)); then
		{ have sudo && sudo -n true 2>/dev/null; } || { have sudo && [[ -t 0 ]]; } ||
			fail "missing: ${missing[*]}. As root, run: apt-get install ${missing[*]}"
		as_root=(sudo)
	fi
	local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
	say "installing ${missing[*]} from Debian (about a minute)"
	local log
	log=$(mktemp)
	if ! { "${apt[@]}" update && without_cluster "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		fail "apt-get could not install ${missing[*]}; the end of its output is above"
	fi
	rm -f "$log"
	# Debian starts what is to run in tests only.
	[[ " ${missing[*]} " != *" pgbouncer "* || ! -d /run/systemd/system ]] || "${as_root[@]}" systemctl disable --quiet --now pgbouncer
	have ffmpeg && have_postgres && find_python >/dev/null ||
		fail "apt-get said it installed ${missing[*]}, but not all of it can be found"
}

# install_venv DIRECTORY REQUIREMENTS TOOL… makes the virtual environment
# .tools/DIRECTORY, unless it exists with these requirements.
install_venv() {
	local venv=$root/.tools/$1 stamp=$root/.tools/$1.stamp requirements=$here/$2
	shift 2
	local want
	want=$(cat "${BASH_SOURCE[0]}" "$requirements" | sha256sum)
	if [[ -f $stamp && $(<"$stamp") == "$want $venv" && -x $venv/bin/$1 && -x $venv/bin/python ]] &&
		"$venv/bin/python" -c '' 2>/dev/null; then
		return
	fi
	local python
	python=$(find_python)
	say "making ${venv#"$root/"} with $("$python" --version)"
	rm -rf "$venv" "$stamp"
	"$python" -m venv "$venv"
	say "installing $* from PyPI"
	# Compiled files save yt-dlp half a second of CPU at every call. Only wheels: what
	# builds a source distribution would be installed without a check.
	env -u PYTHONDONTWRITEBYTECODE "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input --compile \
		--require-hashes --only-binary :all: --requirement "$requirements" </dev/null ||
		fail "pip could not install ${requirements#"$root/"}; see above"
	local tool
	for tool; do
		"$venv/bin/$tool" --version >/dev/null || fail "$venv/bin/$tool was installed but does not run"
	done
	# Paths in a virtual environment are absolute, so one that was moved is made again.
	printf '%s\n' "$want $venv" >"$stamp"
	say "done"
}

# install_decoder builds segment-decoder, unless it exists with this source. Nothing else
# needs it or its compiler, so their absence is no failure.
install_decoder() {
	local program=$root/.tools/bin/segment-decoder want
	want=$(cat "$here/decoder.sh" "$root"/adapters/stream/ffmpeg/decoder/program/*.[ch] | sha256sum)
	if [[ -f $program.stamp && $(<"$program.stamp") == "$want" ]] && "$program" --version >/dev/null 2>&1; then
		return
	fi
	mkdir -p "${program%/*}"
	local packages=(gcc libc6-dev pkg-config libavformat-dev libavcodec-dev libavutil-dev)
	if ! { have gcc && have pkg-config && pkg-config --exists libavformat libavcodec libavutil; }; then
		local as_root=()
		((EUID == 0)) || as_root=(sudo -n)
		say "installing ${packages[*]} from Debian"
		{ have apt-get && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
			"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${packages[@]}"; } </dev/null >/dev/null 2>&1 ||
			{ say "segment-decoder is not built: it needs ${packages[*]}. Everything else works, with ffmpeg"; return; }
	fi
	if "$here/decoder.sh" "$program"; then
		printf '%s\n' "$want" >"$program.stamp"
	else
		say "segment-decoder could not be built. Everything else works, with ffmpeg"
	fi
}

# Concurrent runs (make -j, two terminals) wait for each other.
mkdir -p "$root/.tools"
exec 9>"$root/.tools/lock"
flock 9

install_debian
install_venv venv requirements.txt yt-dlp streamlink deno
install_decoder
have_node || (install_venv node requirements-node.txt node npm) ||
	say "Node.js could not be installed: the dashboard is not built, everything else works"
[[ $extra != api ]] || install_venv api-venv requirements-api.txt schemathesis
