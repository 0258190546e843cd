#!/usr/bin/env bash
# Checks a change before its commit: build, vet, lint of what changed, unit tests.
# Each step prints one line with its seconds; a step that fails prints its whole
# output and ends the run. Run it as "make check".
#
#	check.sh LINTER PACKAGE…
#
# LINTER is the golangci-lint to use, PACKAGE… the packages with unit tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

linter=$1
shift
unit_packages=("$@")

# base prints the commit that a change is compared with: where the branch left
# origin/main, else the last commit.
base() {
	git merge-base origin/main HEAD 2>/dev/null || git rev-parse --quiet --verify 'HEAD~1' || git rev-parse HEAD
}

# A linter needs whole packages, so it reads those that changed and reports only
# what is new in them.
lint_changes() {
	local from dir packages=()
	from=$(base)
	while read -r dir; do
		! compgen -G "$dir/*.go" >/dev/null || packages+=("./$dir")
	done < <({ git diff --name-only "$from" -- '*.go' && git ls-files --others --exclude-standard -- '*.go'; } |
		grep -v /testdata/ | xargs -r -n 1 dirname | sort -u)
	((${#packages[@]})) || return 0
	"$linter" run --allow-parallel-runners --new-from-rev "$from" "${packages[@]}"
}

unit_tests() { go test -timeout 5m "${unit_packages[@]}"; }

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# A function that step calls runs without errexit: it returns its last status.
step() {
	local name=$1 began=$SECONDS
	shift
	if ! "$@" >"$output" 2>&1; then
		cat "$output"
		printf 'check: %-20s FAILED  %3d s\n' "$name" $((SECONDS - began))
		exit 1
	fi
	printf 'check: %-20s ok      %3d s\n' "$name" $((SECONDS - began))
}

step build go build ./...
step vet make --no-print-directory vet
step "lint of what changed" lint_changes
step "unit tests" unit_tests
printf 'check: %-20s ok      %3d s\n' everything "$SECONDS"
