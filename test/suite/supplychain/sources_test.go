package supplychain_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tools of apt that debian-source.sh calls, with one source package, named a. They
// write the sources that they were told of to $SEEN.
const (
	fakeAptConfig = `#!/bin/bash
printf "list='%s'\nparts='%s'\n" "$APT/sources.list" "$APT/sources.list.d"
`
	fakeAptGet = `#!/bin/bash
for option; do
	[[ $option != Dir::Etc::sourcelist=* ]] || cat "${option#*=}" >>"$SEEN"
	[[ $option != Dir::Etc::sourceparts=* ]] || cat "${option#*=}"/* >>"$SEEN" 2>/dev/null
done
case " $* " in
*" source "*)
	[[ ${!#} == a || ${!#} == a=1:2.0-1 ]] || exit 100
	[[ $* == *--print-uris* ]] || { printf '%s' "$DSC" >a_2.0-1.dsc; exit; }
	echo "'http://x/a_2.0-1.dsc' a_2.0-1.dsc 7 SHA256:$HASH"
	echo "'http://x/a_2.0.orig.tar.xz' a_2.0.orig.tar.xz 7 SHA256:0" ;;
esac
`
	fakeAptCache = `#!/bin/bash
printf 'Package: a\nVersion: 1:1.0-1\nChecksums-Sha256:\n 00 7 a_1.0-1.dsc\n\n'
printf 'Package: a\nVersion: 1:2.0-1\nChecksums-Sha256:\n %s 7 a_2.0-1.dsc\n\n' "$HASH"
`
	fakeDpkgSource = `#!/bin/bash
mkdir "$3" && cp "$2" "$3/"
`
)

// runDebianSource runs deploy/debian-source.sh with the fakes, in a new directory. The archive
// says that the .dsc has the hash of its name, and gives dsc for it.
func runDebianSource(t *testing.T, dsc string, args ...string) (dir, seen, output string, err error) {
	t.Helper()
	dir, output, err = runScript(t, "deploy/debian-source.sh", map[string]string{
		"bin/apt-config": fakeAptConfig, "bin/apt-get": fakeAptGet, "bin/apt-cache": fakeAptCache, "bin/dpkg-source": fakeDpkgSource, "bin/chown": "#!/bin/sh\n",
		"apt/sources.list":                    "# deb http://old/ x main\ndeb [arch=amd64] http://one/ x main\n",
		"apt/sources.list.d/two.list":         "deb\thttp://two/ x main\ndeb-src http://two/ x main\n",
		"apt/sources.list.d/three.sources":    "Types: deb\nURIs: http://three/\n\nTypes: deb deb-src\nURIs: http://four/\n",
		"apt/sources.list.d/unused.sources.x": "Types: deb\nURIs: http://five/\n",
	}, []string{"APT=$DIR/apt", "SEEN=$DIR/seen", "HASH=" + dscHash, "DSC=" + dsc}, args...)
	return dir, readAbsolute(t, dir, "seen"), output, err
}

const theDSC = "the .dsc"

var dscHash = func() string { sum := sha256.Sum256([]byte(theDSC)); return hex.EncodeToString(sum[:]) }()

func TestTheNewestSourceIsRecorded(t *testing.T) {
	dir, seen, output, err := runDebianSource(t, theDSC, "newest", "a")
	if want := "a 1:2.0-1 sha256:" + dscHash + "\n"; err != nil || output != want {
		t.Errorf("prints %q (%v), want %q", output, err, want)
	}
	for _, want := range []string{"deb-src [arch=amd64] http://one/", "deb-src\thttp://two/", "Types: deb-src\nURIs: http://three/", "Types: deb-src\nURIs: http://four/"} {
		if !strings.Contains(seen, want) {
			t.Errorf("apt was told of the sources %q, without %q", seen, want)
		}
	}
	for _, unwanted := range []string{"old", "five", "Types: deb\n"} {
		if strings.Contains(seen, unwanted) {
			t.Errorf("apt was told of %q in %q", unwanted, seen)
		}
	}
	if got := readAbsolute(t, dir, "apt/sources.list.d/three.sources"); !strings.HasPrefix(got, "Types: deb\n") {
		t.Errorf("the configuration of the machine has become %q", got)
	}
	if _, _, output, err := runDebianSource(t, theDSC, "newest", "b"); err == nil {
		t.Errorf("a package without sources is recorded as %q", output)
	}
}

func TestASourceThatTheArchiveNoLongerHasIsFound(t *testing.T) {
	for version, want := range map[string]bool{"1:2.0-1": true, "1:1.9-1": false} {
		if _, _, output, err := runDebianSource(t, theDSC, "offered", "a 1:2.0-1 sha256:"+dscHash, "a "+version+" sha256:"+dscHash); (err == nil) != want {
			t.Errorf("offered %s: %v, want success: %t\n%s", version, err, want, output)
		}
	}
}

func TestASourceIsUnpackedOnlyWithItsHash(t *testing.T) {
	record := "a 1:2.0-1 sha256:" + dscHash
	dir, _, output, err := runDebianSource(t, theDSC, "unpack", record)
	if err != nil || readAbsolute(t, dir, "a/a_2.0-1.dsc") != theDSC {
		t.Errorf("is not unpacked: %v\n%s", err, output)
	}
	// The archive has one that it signs, but not the recorded one.
	dir, _, output, err = runDebianSource(t, "another .dsc", "unpack", record)
	if _, missing := os.Stat(filepath.Join(dir, "a")); err == nil || missing == nil {
		t.Errorf("a .dsc with another hash is unpacked: %v\n%s", err, output)
	}
}

// runSources runs test/suite/image/sources.sh with a docker whose archive has the recorded
// sources or not. It returns the content of deploy/ffmpeg-sources afterwards.
func runSources(t *testing.T, has bool, args ...string) string {
	t.Helper()
	docker := "#!/bin/bash\ncat >/dev/null\n[[ $* == *' -s newest a b' ]] && echo 'a 2' && echo 'b 2' && exit\n" +
		"[[ $* == *' -s offered a 1 b 1' ]] && " + map[bool]string{true: "true", false: "false"}[has] + "\n"
	dir, output, err := runScript(t, "test/suite/image/sources.sh", map[string]string{"bin/docker": docker, "sources": "# A comment.\na 1\nb 1\n"},
		[]string{"FFMPEG_SOURCES=$DIR/sources"}, args...)
	if err != nil {
		t.Errorf("fails: %v\n%s", err, output)
	}
	return readAbsolute(t, dir, "sources")
}

func TestSourcesAreRenewedOnRequestAndWhenTheyAreGone(t *testing.T) {
	const old, renewed = "# A comment.\na 1\nb 1\n", "# A comment.\na 2\nb 2\n"
	if got := runSources(t, true); got != old {
		t.Errorf("before a build of what Debian has: %q, want %q", got, old)
	}
	if got := runSources(t, false); got != renewed {
		t.Errorf("before a build of what Debian no longer has: %q, want %q", got, renewed)
	}
	if got := runSources(t, true, "lock"); got != renewed {
		t.Errorf("on request: %q, want %q", got, renewed)
	}
}
