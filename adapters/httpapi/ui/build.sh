#!/usr/bin/env bash
# Builds the dashboard into dist, from where "go build" embeds it. Nothing happens when
# neither sources nor Node.js have changed since the last time.
#
#	build.sh            fails where Node.js is missing or too old ("make ui")
#	build.sh optional   says so and succeeds ("make build")
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
readonly oldest_node=20

say() { printf 'ui: %s\n' "$*" >&2; }

# "make tools" puts a Node.js there where the system has none that is new enough.
PATH=$PATH:$(cd ../../.. && pwd)/.tools/node/bin

node_is_new() {
	command -v npm >/dev/null && [[ $(node --version 2>/dev/null) =~ ^v([0-9]+)\. ]] && ((BASH_REMATCH[1] >= oldest_node))
}

if ! node_is_new; then
	if [[ ${1:-} == optional ]]; then
		[[ -f dist/index.html ]] && say "the dashboard stays as it was built before: Node.js $oldest_node or newer is missing" ||
			say "the dashboard is not built: Node.js $oldest_node or newer is missing (\"make tools\" installs it); everything else works"
		exit 0
	fi
	say "Node.js $oldest_node or newer and npm are missing; \"make tools\" installs them"
	exit 1
fi

# Files of several builds must not mix.
exec 9>.lock
flock 9

installed=$(cat package-lock.json <(node --version) | sha256sum)
if [[ ! -f node_modules/.installed || $(<node_modules/.installed) != "$installed" ]]; then
	say "installing the packages of package-lock.json"
	rm -f node_modules/.installed
	npm ci --no-audit --no-fund --loglevel=error </dev/null >&2
	printf '%s\n' "$installed" >node_modules/.installed
fi

sources() { find . \( -path ./node_modules -o -path ./dist -o -path ./test \) -prune -o -type f ! -name '*.go' ! -name .lock -print0 | LC_ALL=C sort -z; }
built=$(sources | xargs -0 sha256sum | sha256sum)
if [[ ! -f dist/index.html || ! -f node_modules/.built || $(<node_modules/.built) != "$built" ]]; then
	rm -f node_modules/.built
	npm run --silent build </dev/null >&2
	printf '%s\n' "$built" >node_modules/.built
	say "built dist: $(find dist -type f ! -name .gitkeep | wc -l) files"
fi
touch dist/.gitkeep # in the repository; the build empties dist
