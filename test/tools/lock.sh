#!/usr/bin/env bash
# Renews the lock files of the Python tools: for each requirements*.in the file
# requirements*.txt, with the release of every package and the SHA-256 of its files, for
# every platform and for Python 3.11 and newer. Only wheels are taken: what builds a source
# distribution would itself be installed without a check. Run it as "make lock".
#
#	lock.sh           every package, at its newest release
#	lock.sh NAME…     only these packages, such as yt-dlp or yt-dlp==2026.10.26
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

upgrade=(--upgrade)
if (($#)); then
	upgrade=()
	for name; do upgrade+=(--upgrade-package "$name"); done
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input \
	--require-hashes --only-binary :all: --requirement requirements-lock.txt

for wanted in requirements*.in; do
	lock=${wanted%.in}.txt
	# The releases of the old file stay, except those that are upgraded.
	cp "$lock" "$work/$lock"
	"$work/venv/bin/uv" pip compile --quiet --no-config --universal --python-version 3.11 --only-binary :all: \
		--generate-hashes --no-header --no-annotate "${upgrade[@]}" --output-file "$work/$lock" "$wanted"
	{
		printf '# Written by "make lock" from %s. Do not edit.\n' "$wanted"
		grep -v '^#' "$work/$lock"
	} >"$work/new"
	cmp -s "$work/new" "$lock" || {
		cp "$work/new" "$lock"
		echo "lock: test/tools/$lock has changed" >&2
	}
done
