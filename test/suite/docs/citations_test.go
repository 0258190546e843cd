// Package docs_test holds the repository's texts against its documents.
package docs_test

import (
	"bytes"
	"fmt"
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

// decisionGroups are the letters of decisions and the least number of each. A
// later decision takes the next number.
var decisionGroups = map[string]int{"P": 5, "A": 11, "W": 7, "S": 20, "O": 10, "C": 31}

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

func TestTheSpecificationHasEverySectionAndDecision(t *testing.T) {
	text := string(readFile(t, specification))
	known := collectTargets(map[string]string{specification: text})
	subsections := []int{2, 2, 5, 4, 4, 7, 6, 7, 1, 4, 2, 3, 3, 4, 2} // of chapters 1 to 15
	for i, n := range subsections {
		for j := range n + 1 {
			number := strings.TrimSuffix(fmt.Sprintf("%d.%d", i+1, j), ".0")
			if !known.sections[number] {
				t.Errorf("section %s is missing", number)
			}
		}
	}
	for _, number := range []string{"2.2.1", "2.2.2"} {
		if !known.sections[number] {
			t.Errorf("section %s is missing", number)
		}
	}
	for _, letter := range []string{"A", "B", "C"} {
		if !known.appendices[letter] {
			t.Errorf("appendix %s is missing", letter)
		}
	}
	for group, least := range decisionGroups {
		n := 0
		for known.decisions[fmt.Sprint(group, n+1)] {
			n++
		}
		if n < least {
			t.Errorf("decision %s%d has no anchor", group, n+1)
		}
	}
	_, index, _ := strings.Cut(text, "## Index of decisions")
	for decision := range known.decisions {
		id := strings.ToLower(decision)
		if n := strings.Count(text, `<a id="`+id+`"></a>`); n != 1 {
			t.Errorf("decision %s has %d anchors, want 1", decision, n)
		}
		if decision[0] != 'C' && !strings.Contains(index, "["+decision+"](#"+id+")") {
			t.Errorf("decision %s is not in the index", decision)
		}
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
