// Package docs_test holds the repository's texts against its documents.
package docs_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root          = "../../.."
	specification = "docs/specification.md"
	thisFile      = "test/suite/docs/citations_test.go" // its examples are wrong on purpose
	maxTextBytes  = 1 << 20                             // a larger file is data
)

// Fewer citations than these in the whole tree mean that the search is broken.
const (
	leastSections  = 200
	leastDecisions = 200
	leastPaths     = 40
)

func TestEveryCitationResolves(t *testing.T) {
	texts := trackedTexts(t)
	known := collectTargets(texts)
	var total counts
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if name == thisFile {
			continue
		}
		for _, p := range known.check(name, texts[name], &total) {
			t.Errorf("%s:%d: %q: %s", name, p.line, p.text, p.why)
		}
	}
	if total.sections < leastSections || total.decisions < leastDecisions || total.paths < leastPaths {
		t.Errorf("found %+v citations in %d files, want at least %d, %d and %d: the search is broken",
			total, len(texts), leastSections, leastDecisions, leastPaths)
	}
}

// trackedTexts is every text file of the repository, new ones included, except
// for test data.
func trackedTexts(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git cannot list the files of the repository: %v", err)
	}
	texts := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if strings.Contains("/"+name, "/testdata/") || name == "go.sum" {
			continue
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxTextBytes {
			continue // deleted and not committed yet, a link, or data
		}
		if text := readFile(t, name); !bytes.Contains(text, []byte{0}) {
			texts[name] = string(text)
		}
	}
	return texts
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
