package supplychain_test

import (
	"slices"
	"strings"
	"testing"
)

const (
	oldDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	newDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// runBases runs test/suite/image/bases.sh with a docker that pulls newDigest. lock is the content of
// deploy/base-images, here what docker has. It returns the calls of docker that change
// something, the content of deploy/base-images afterwards, and the output.
func runBases(t *testing.T, lock, here string, args ...string) (calls []string, locked, output string, err error) {
	t.Helper()
	dir, output, err := runScript(t, "test/suite/image/bases.sh", "testdata/bases", map[string]string{"base-images": lock, "images": here, "calls": ""},
		[]string{"BASE_IMAGES=$DIR/base-images", "IMAGES=$DIR/images", "CALLS=$DIR/calls", "PULLED=" + newDigest}, args...)
	for call := range strings.Lines(readAbsolute(t, dir, "calls")) {
		if !strings.HasPrefix(call, "image inspect") {
			calls = append(calls, strings.TrimSpace(call))
		}
	}
	return calls, readAbsolute(t, dir, "base-images"), output, err
}

func TestBaseImagesArePulledByTheirDigest(t *testing.T) {
	const name = "debian:trixie-slim"
	byDigest := []string{"pull -q debian@" + oldDigest, "tag debian@" + oldDigest + " " + name}
	for _, c := range []struct {
		is, lock, here string
		want           []string
	}{
		{"absent", name + " " + oldDigest, "", byDigest},
		{"here with another digest", name + " " + oldDigest, name + " " + newDigest, byDigest},
		{"here", name + " " + oldDigest, name + " " + oldDigest, nil},
		{"absent, and has no digest", name, "", []string{"pull -q " + name}},
		{"here, and has no digest", name, name + " " + newDigest, nil},
	} {
		calls, _, output, err := runBases(t, c.lock+"\n", c.here+"\n")
		if err != nil || !slices.Equal(calls, c.want) {
			t.Errorf("the image is %s: docker was called with %q (%v), want %q\n%s", c.is, calls, err, c.want, output)
		}
	}
}

func TestAnImageOnAnUnknownBaseIsNotPublished(t *testing.T) {
	const name = "golang:1.26-trixie"
	for is, c := range map[string]struct{ lock, here, want string }{
		"the wanted one": {name + " " + oldDigest, name + " " + oldDigest, ""},
		"unpinned":       {name, name + " " + oldDigest, `run "make lock-images"`},
		"another":        {name + " " + oldDigest, name + " " + newDigest, "is not here with the digest " + oldDigest},
		"absent":         {name + " " + oldDigest, "", "is not here with the digest " + oldDigest},
	} {
		_, _, output, err := runBases(t, c.lock+"\n", c.here+"\n", "check", name)
		if (err != nil) != (c.want != "") || !strings.Contains(output, c.want) {
			t.Errorf("the base is %s: %v, output %q, want %q in it", is, err, output, c.want)
		}
	}
}

func TestDigestsAreTheRegistrys(t *testing.T) {
	_, locked, output, err := runBases(t, "# A comment.\na:1\nb:2 "+oldDigest+"\n", "", "lock")
	if want := "# A comment.\na:1 " + newDigest + "\nb:2 " + newDigest + "\n"; err != nil || locked != want {
		t.Errorf("deploy/base-images has %q (%v), want %q\n%s", locked, err, want, output)
	}
}
