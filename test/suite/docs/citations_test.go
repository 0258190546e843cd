// Package docs_test holds the repository's texts against its documents.
package docs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
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

// targets is everything that a citation may point to.
type targets struct {
	sections   map[string]bool // of the specification: 7, 7.6, 2.2.1
	appendices map[string]bool // A, B, C
	decisions  map[string]bool // S7, C31
	records    map[string]bool // of docs/decisions: 0007
	files      map[string]bool // paths from the root
	anchors    map[string]map[string]bool
}

// problem is a citation that does not resolve.
type problem struct {
	line int
	text string
	why  string
}

// counts is how many citations of each kind were seen.
type counts struct{ sections, decisions, paths int }

func TestEveryCitationResolves(t *testing.T) {
	texts := trackedTexts(t)
	known := collectTargets(texts)
	var total counts
	for _, name := range sortedKeys(texts) {
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
			sort.Strings(wrong)
			want := slices.Sorted(slices.Values(test.wrong))
			if !slices.Equal(wrong, want) {
				t.Errorf("%q: found %q, want %q", test.text, wrong, want)
			}
		})
	}
}

const (
	sectionNumber = `\d+(?:\.\d+)+`
	conjunction   = `\s*(?:,\s*(?:and\s+|or\s+)?|;\s*|\band\s+|\bor\s+|\bto\s+|–|/)`
	decisionName  = `[A-Z]\d{1,2}`
)

var (
	sectionCited  = regexp.MustCompile(`\b[Ss]ections?\s+(\d+(?:\.\d+)*(?:` + conjunction + sectionNumber + `\b)*)`)
	sectionItem   = regexp.MustCompile(`\d+(?:\.\d+)*`)
	chapterCited  = regexp.MustCompile(`\b[Cc]hapters?\s+(\d+(?:` + conjunction + `\d+\b)*)`)
	appendixCited = regexp.MustCompile(`\b[Aa]ppendix\s+([A-Z])\b`)
	decisionCited = regexp.MustCompile(`\b[Dd]ecisions?\s+(` + decisionName + `(?:` + conjunction + decisionName + `)*)\b`)
	decisionItem  = regexp.MustCompile(decisionName)
	// inBrackets is what is between brackets: "S7", "S7, S13", and what follows a section: "section 7.6, S6".
	inBrackets  = regexp.MustCompile(`^(?:.*\d, )?([PAWSO]\d{1,2}(?:, [PAWSO]\d{1,2})*)$`)
	recordCited = regexp.MustCompile(`\b[Dd]ecisions?\s+(\d{1,4})\b`)
	recordPath  = regexp.MustCompile(`\bdocs/decisions/(\d{4})`)
	pagePath    = regexp.MustCompile(`docs/[\w./-]*\w\.md\b`)
	pathBefore  = regexp.MustCompile(`[\w.:/-]*$`)
	pageLink    = regexp.MustCompile(`\]\(([^()\s:]*\.md)?(#[^()\s]+)?\)`)
	issueCited  = regexp.MustCompile(`\b[Ii]ssues?\s+#?\d+\b`)

	foreignBefore = regexp.MustCompile(`\b(?:RFC|ISO(?:/IEC)?|ITU-T|ETSI|BCP)\s*[\w./-]+\s*(?:,|\()?\s*$`)
	foreignAfter  = regexp.MustCompile(`^\s+(?:of|in)\s+(?:the\s+)?(?:RFC|ISO|ITU-T|ETSI|BCP)\b`)
	unitAfter     = regexp.MustCompile(`^\s*(?:s|ms|bytes?|%|MB|MiB|KiB|kB)\b`)
	trackerAfter  = regexp.MustCompile(`^\]?\s?[(<]?https?://`)

	headingNumber  = regexp.MustCompile(`(?m)^#{1,4} (\d+(?:\.\d+)*)\.? `)
	headingLetter  = regexp.MustCompile(`(?m)^## Appendix ([A-Z])\. `)
	heading        = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	anchorID       = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	decisionAnchor = regexp.MustCompile(`<a id="([a-z]\d{1,2})"></a>`)
	recordFile     = regexp.MustCompile(`^docs/decisions/(\d{4})-.*\.md$`)
	linkInHeading  = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	notInAnchor    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	lineLeader     = regexp.MustCompile(`^[ \t]*(?://|#+|--|\*|>)?[ \t]*`)
)

// check lists the citations in text that do not resolve, and adds all that it
// finds to seen.
func (k targets) check(name, text string, seen *counts) []problem {
	prose, lineOf := joinComments(text)
	var problems []problem
	report := func(at int, text, why string) { problems = append(problems, problem{lineOf(at), text, why}) }

	own := map[string]bool{}
	if path.Ext(name) == ".md" {
		own = numberedHeadings(text)
	}
	for _, m := range find(sectionCited, prose, "ection") {
		if foreignBefore.MatchString(prose[max(0, m[0]-60):m[0]]) || foreignAfter.MatchString(prose[m[1]:]) {
			continue
		}
		for _, item := range sectionItem.FindAllStringIndex(prose[m[2]:m[3]], -1) {
			number, after := prose[m[2]+item[0]:m[2]+item[1]], prose[m[2]+item[1]:]
			if unitAfter.MatchString(after) {
				continue // "section 7.6, 0.5 s later", "an initialisation section 16 bytes long"
			}
			seen.sections++
			if !own[number] && !k.sections[number] {
				report(m[0], number, "no such section in "+specification)
			}
		}
	}
	for _, m := range find(chapterCited, prose, "hapter") {
		for _, number := range sectionItem.FindAllString(prose[m[2]:m[3]], -1) {
			seen.sections++
			if !k.sections[number] {
				report(m[0], number, "no such chapter in "+specification)
			}
		}
	}
	for _, m := range find(appendixCited, prose, "ppendix") {
		if letter := prose[m[2]:m[3]]; !k.appendices[letter] {
			report(m[0], letter, "no such appendix in "+specification)
		}
	}
	for _, m := range append(find(decisionCited, prose, "ecision"), bracketed(prose)...) {
		for _, decision := range decisionItem.FindAllString(prose[m[2]:m[3]], -1) {
			seen.decisions++
			if !k.decisions[decision] {
				report(m[0], decision, "no such decision in "+specification)
			}
		}
	}
	for _, m := range find(recordCited, prose, "ecision") {
		number := prose[m[2]:m[3]]
		if !k.records[strings.Repeat("0", 4-len(number))+number] {
			report(m[0], number, "no such record in docs/decisions")
		}
	}
	for _, m := range find(issueCited, prose, "ssue") {
		if !trackerAfter.MatchString(prose[m[1]:]) {
			report(m[0], prose[m[0]:m[1]], "a reader cannot open it: say what it says, or link a public tracker")
		}
	}
	k.checkPaths(name, prose, seen, report)
	return problems
}

// find is re.FindAllStringSubmatchIndex for a text that has the hint in it.
func find(re *regexp.Regexp, text, hint string) [][]int {
	if !strings.Contains(text, hint) {
		return nil
	}
	return re.FindAllStringSubmatchIndex(text, -1)
}

// bracketed finds decisions in brackets, as find does.
func bracketed(text string) (found [][]int) {
	for i := 1; i < len(text); i++ {
		if (text[i] != ')' && text[i] != ']') || text[i-1] < '0' || text[i-1] > '9' {
			continue
		}
		from := max(0, i-80)
		opening := strings.LastIndexAny(text[from:i], "([\n") + from
		if opening < from || text[opening] == '\n' {
			continue
		}
		if m := inBrackets.FindStringSubmatchIndex(text[opening+1 : i]); m != nil {
			found = append(found, []int{opening, i, opening + 1 + m[2], opening + 1 + m[3]})
		}
	}
	return found
}

// checkPaths checks paths to documents, records and, in Markdown, links.
func (k targets) checkPaths(name, prose string, seen *counts, report func(at int, text, why string)) {
	for _, m := range find(recordPath, prose, "docs/") {
		seen.paths++
		if !k.records[prose[m[2]:m[3]]] {
			report(m[0], prose[m[0]:m[1]], "no such record")
		}
	}
	for _, m := range find(pagePath, prose, "docs/") {
		file := prose[m[0]:m[1]]
		before := pathBefore.FindString(prose[max(0, m[0]-60):m[0]])
		if strings.Trim(before, "./") != "" {
			continue // of another project
		}
		seen.paths++
		if !k.files[file] {
			report(m[0], file, "no such file")
		}
	}
	if path.Ext(name) != ".md" {
		return
	}
	for _, m := range pageLink.FindAllStringSubmatch(prose, -1) {
		file := name
		if m[1] != "" {
			file = path.Join(path.Dir(name), m[1])
		}
		seen.paths++
		at := strings.Index(prose, m[0])
		if anchors, ok := k.anchors[file]; !ok {
			report(at, file, "no such file")
		} else if m[2] != "" && !anchors[m[2][1:]] {
			report(at, file+m[2], "no such heading or anchor")
		}
	}
}

// joinComments removes what begins the lines of a comment, so that a citation
// may go over the end of a line, and tells of an offset in which line it is.
func joinComments(text string) (prose string, lineOf func(int) int) {
	var b strings.Builder
	var starts []int
	for line := range strings.Lines(text) {
		starts = append(starts, b.Len())
		b.WriteString(strings.TrimRight(line[len(lineLeader.FindString(line)):], "\r\n"))
		b.WriteByte('\n')
	}
	return b.String(), func(at int) int { return sort.SearchInts(starts, at+1) }
}

// collectTargets reads everything that may be cited from the documents in texts.
func collectTargets(texts map[string]string) targets {
	k := targets{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}}
	for name, text := range texts {
		k.files[name] = true
		if m := recordFile.FindStringSubmatch(name); m != nil {
			k.records[m[1]] = true
		}
		if path.Ext(name) == ".md" {
			k.anchors[name] = headingAnchors(text)
		}
	}
	text := texts[specification]
	k.sections = numberedHeadings(text)
	for _, m := range headingLetter.FindAllStringSubmatch(text, -1) {
		k.appendices[m[1]] = true
	}
	for _, m := range decisionAnchor.FindAllStringSubmatch(text, -1) {
		k.decisions[strings.ToUpper(m[1])] = true
	}
	return k
}

func numberedHeadings(text string) map[string]bool {
	numbers := map[string]bool{}
	for _, m := range headingNumber.FindAllStringSubmatch(text, -1) {
		numbers[m[1]] = true
	}
	return numbers
}

// headingAnchors is every anchor of a Markdown page, made as GitHub makes them.
func headingAnchors(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		words := linkInHeading.ReplaceAllString(m[1], "$1")
		words = notInAnchor.ReplaceAllString(strings.ToLower(words), "")
		anchors[strings.ReplaceAll(strings.TrimSpace(words), " ", "-")] = true
	}
	for _, m := range anchorID.FindAllStringSubmatch(text, -1) {
		anchors[m[1]] = true
	}
	return anchors
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
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
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

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
