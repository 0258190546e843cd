package supplychain_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runDebianSource runs deploy/debian-source.sh with an apt that has one source package, named a. The archive
// says that the .dsc has the hash of theDSC, and gives dsc for it. seen is what apt was told of sources.
func runDebianSource(t *testing.T, dsc string, args ...string) (dir, seen, output string, err error) {
	t.Helper()
	dir, output, err = runScript(t, "deploy/debian-source.sh", "testdata/debian-source", nil,
		[]string{"APT=$DIR/apt", "SEEN=$DIR/seen", "HASH=" + dscHash, "DSC=" + dsc}, args...)
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
	dir, output, err := runScript(t, "test/suite/image/sources.sh", "testdata/sources", map[string]string{"sources": "# A comment.\na 1\nb 1\n"},
		[]string{"FFMPEG_SOURCES=$DIR/sources", fmt.Sprint("HAS=", has)}, args...)
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
