#!/bin/bash
# Builds stream-monitor. The same sources, release of Go and VERSION give the same bytes in
# every directory and on every machine ("make reproducible" compares): no path, time,
# commit or C library of the machine gets into the program.
#
#	binary.sh FILE    with VERSION in the environment (default: dev)
set -euo pipefail

file=$1
[[ $file == /* ]] || file=$PWD/$file
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags "-s -w -buildid= -X main.version=${VERSION:-dev}" -o "$file" ./cmd/stream-monitor
