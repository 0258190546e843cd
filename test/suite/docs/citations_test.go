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

// TestAWrongCitationIsFound proves that the search finds what it is for, and
// nothing else.
func TestAWrongCitationIsFound(t *testing.T) {
	texts := map[string]string{
		specification: "## 7. Ends\n### 7.6 The end\n#### 2.2.1 Gateway\n## Appendix A. Codes\n" +
			`<a id="s6"></a><a id="s7"></a><a id="o10"></a>`,
		"docs/decisions/0007-fenced.md": "# 7. Fenced",
		"docs/recovery.md":              "## When it dies",
	}
	known := collectTargets(texts)
	tests := []struct {
		name, file, text string
		wrong            []string
	}{
		{"a section that exists", "a.go", "// see section 7.6", nil},
		{"a section that does not", "a.go", "// see section 7.7", []string{"7.7"}},
		{"a section of three numbers", "a.go", "// (section 2.2.1) and (section 2.2.3)", []string{"2.2.3"}},
		{"a section at the end of a sentence", "a.go", "// as in section 7.6. Then 5.", nil},
		{"a capital", "a.sql", "-- Section 9.9, word for word.", []string{"9.9"}},
		{"a list", "a.go", "// sections 7.6, 7.7 and 7.8", []string{"7.7", "7.8"}},
		{"a range", "a.go", "// sections 7.6 to 7.9", []string{"7.9"}},
		{"a number with a unit after a section", "a.go", "// after section 7.6, 0.5 s later", nil},
		{"across lines of a comment", "a.go", "\t// as in section\n\t// 7.7 says", []string{"7.7"}},
		{"across lines of a shell script", "a.sh", "# as in decision\n# S99 says", []string{"S99"}},
		{"in a string", "a.go", `t.Run("section 9.9", nil)`, []string{"9.9"}},
		{"an RFC", "a.go", "// RFC 8216 section 4.3, RFC 6761, section 6.3; section 2.1 of RFC 6052", nil},
		{"an RFC in brackets", "a.go", "// as RFC 8216 (section 4.3) says", nil},
		{"an ISO standard", "a.go", "// ISO/IEC 23009-1, section 5.3.9", nil},
		{"ours after an RFC", "a.go", "// unlike RFC 8216, which is older, section 4.3", []string{"4.3"}},
		{"a chapter", "a.go", "// chapter 7, chapter 8", []string{"8"}},
		{"an appendix", "a.go", "// appendix A, appendix D", []string{"D"}},
		{"a decision", "a.go", "// decision S7", nil},
		{"a decision that does not exist", "a.go", "// (decision S8)", []string{"S8"}},
		{"a list of decisions", "a.go", "// decisions S6, S8 and O11", []string{"S8", "O11"}},
		{"a section and a decision", "a.go", "// (section 7.6, decision S9)", []string{"S9"}},
		{"a section and a bare decision", "a.go", "// (section 7.6, S9)", []string{"S9"}},
		{"decisions in brackets", "a.go", "// at once (S7), not (S12); [S6] and [S13]", []string{"S12", "S13"}},
		{"a percentile", "a.go", "// the P99 of 20 runs", nil},
		{"a letter in other words", "a.go", "// Standard Webhooks' v1 and A99", nil},
		{"a record", "a.md", "(docs/decisions/0007), decision 7, docs/decisions/0008", []string{"docs/decisions/0008"}},
		{"a record by number", "a.md", "decision 9", []string{"9"}},
		{"a page", "a.go", `"../../docs/recovery.md" and docs/lost.md`, []string{"docs/lost.md"}},
		{"a page of another project", "a.go", "// https://example.com/docs/lost.md", nil},
		{"a link", "docs/a.md", "[x](recovery.md) [y](recovery.md#when-it-dies) [z](lost.md)", []string{"docs/lost.md"}},
		{"a link to no heading", "docs/a.md", "[x](recovery.md#when-it-lives)", []string{"docs/recovery.md#when-it-lives"}},
		{"a link within the page", "docs/a.md", "## One, *two*\n[x](#one-two) [y](#three)", []string{"docs/a.md#three"}},
		{"a page's own section", "docs/a.md", "## 3.2 Pools\nSee section 3.2, not section 3.3.", []string{"3.3"}},
		{"an own section of another page", "docs/b.md", "See section 3.2.", []string{"3.2"}},
		{"an issue", "a.go", "// issue 4: HLS and Issue #12", []string{"issue 4", "Issue #12"}},
		{"an issue of a public tracker", "a.md", "[issue 4](https://github.com/yt-dlp/yt-dlp/issues/4)", nil},
		{"issues without a number", "a.go", "func ticket(issue int) // the issue of 2 URLs", nil},
		{"a part of a file", "a.go", "// an initialisation section 16 bytes long; a section of 4", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			known.anchors[test.file] = headingAnchors(test.text)
			defer delete(known.anchors, test.file)
			var wrong []string
			for _, p := range known.check(test.file, test.text, &counts{}) {
				wrong = append(wrong, p.text)
			}
			slices.Sort(wrong)
			want := slices.Sorted(slices.Values(test.wrong))
			if !slices.Equal(wrong, want) {
				t.Errorf("%q: found %q, want %q", test.text, wrong, want)
			}
		})
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
