#!/bin/bash
# Gets source packages from where apt of this machine or container gets its packages. It uses
# lists of its own, so that the machine's stay as they are. A RECORD is "NAME VERSION
# sha256:HASH"; the hash is that of the package's .dsc, which has those of all its files.
#
#	debian-source.sh newest NAME…     prints the record of each package's newest version
#	debian-source.sh offered RECORD…  succeeds if the archive still has all these versions
#	debian-source.sh unpack RECORD…   unpacks each, with Debian's changes, into ./NAME; it
#	                                  needs dpkg-dev
set -euo pipefail

# configure sets apt to options with which apt knows the sources of the packages that it
# knows, and nothing else.
configure() {
	local list parts file
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	mkdir -p "$state"/{parts,lists/partial,cache/archives/partial}
	chmod 755 "$state"
	((EUID)) || chown _apt "$state" # as this user, root's apt downloads
	for file in "$list" "$parts"/*.list; do
		[[ ! -f $file ]] || sed -n 's/^deb\([[:space:]]\)/deb-src\1/p' "$file"
	done >"$state/sources.list"
	for file in "$parts"/*.sources; do
		[[ ! -f $file ]] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$state/parts/${file##*/}"
	done
	apt=(-qq -o Acquire::Retries=3 -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=$state/parts"
		-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache")
	apt-get "${apt[@]}" update
}

# digest prints the SHA-256 of the .dsc of NAME=VERSION, or of the newest NAME.
digest() {
	apt-get "${apt[@]}" source --print-uris --download-only "$1" | sed -n 's/^.*\.dsc [0-9]* SHA256:\([0-9a-f]\{64\}\)$/\1/p'
}

newest() {
	local sum version
	sum=$(digest "$1")
	version=$(apt-cache "${apt[@]}" showsrc --only-source "$1" |
		awk -v RS= -v FS='\n' -v sum="$sum" 'index($0, sum) && !seen++ { for (i = 1; i <= NF; i++) if (sub(/^Version: /, "", $i)) print $i }')
	[[ -n $version ]] || { echo "debian-source: apt has no source of $1" >&2; return 1; }
	echo "$1 $version sha256:$sum"
}

# offered NAME VERSION HASH does not look at the hash: with another one, unpack fails.
offered() { [[ -n $(digest "$1=$2" 2>/dev/null) ]]; }

unpack() {
	local dsc=$1_${2#*:}.dsc
	(cd "$state" && apt-get "${apt[@]}" source --download-only "$1=$2")
	echo "${3#sha256:}  $state/$dsc" | sha256sum -c --quiet -
	# It checks the other files by the .dsc.
	dpkg-source --extract "$state/$dsc" "$1" >"$state/log" 2>&1 || { cat "$state/log" >&2; return 1; }
}

main() {
	local command=$1 record fields
	shift
	configure
	for record; do
		read -ra fields <<<"$record"
		"$command" "${fields[@]}"
	done
}

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
main "$@" </dev/null # the script itself may be read from there
