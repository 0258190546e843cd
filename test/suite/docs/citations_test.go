// Package docs_test holds the repository's texts against its documents.
package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root          = "../../.."
	specification = "docs/specification.md"
	thisFile      = "test/suite/docs/citations_test.go" // its examples are wrong on purpose
	maxTextBytes  = 1 << 20                             // a larger file is data
)

// citation is a way in which texts cite something.
type citation struct {
	cited *regexp.Regexp // its first group has what is cited, one thing or several
	item  *regexp.Regexp // one of these
	hint  string         // is in every text that cites so
	pages bool           // only pages do

	// foreign reports whether a citation between these texts is of another document.
	foreign func(before, after string) bool

	exists func(item, file string) bool
	why    string // it does not exist
	least  int    // how many the repository has, or the search is broken
}

const (
	conjunction  = `\s*(?:,\s*(?:and\s+|or\s+)?|;\s*|\band\s+|\bor\s+|\bto\s+|–|/)`
	decisionName = `[A-Z]\d{1,2}`
)

var (
	number   = regexp.MustCompile(`\d+(?:\.\d+)*`)
	anything = regexp.MustCompile(`(?s).+`)

	foreignBefore = regexp.MustCompile(`\b(?:RFC|ISO(?:/IEC)?|ITU-T|ETSI|BCP)\s*[\w./-]+\s*(?:,|\()?\s*$`)
	// foreignAfter also matches a unit: "section 7.6, 0.5 s later".
	foreignAfter = regexp.MustCompile(`^\s+(?:of|in)\s+(?:the\s+)?(?:RFC|ISO|ITU-T|ETSI|BCP)\b|^\s*(?:s|ms|bytes?|%|MB|MiB|KiB|kB)\b`)
	trackerAfter = regexp.MustCompile(`^\]?\s?[(<]?https?://`)
	pathBefore   = regexp.MustCompile(`[\w.:/-]*$`)
)

// citations returns the ways to cite, with what exists in these texts.
func citations(texts map[string]string) []citation {
	rules := texts[specification]
	sections := captured(rules, `(?m)^#{1,4} (\d+(?:\.\d+)*)\.? `)
	appendices := captured(rules, `(?m)^## Appendix ([A-Z])\. `)
	decisions := captured(strings.ToUpper(rules), `<A ID="([A-Z]\d{1,2})"></A>`)
	records, anchors, tests := map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}
	for name, text := range texts {
		if record, is := strings.CutPrefix(name, "docs/decisions/"); is && number.MatchString(record[:4]) {
			records[strings.TrimLeft(record[:4], "0")] = true
		}
		if path.Ext(name) == ".md" {
			anchors[name] = headingAnchors(text)
		}
		for test := range captured(text, `(?m)^func (Test\w+)\(`) {
			tests[test] = true
		}
	}
	among := func(known map[string]bool) func(string, string) bool {
		return func(item, _ string) bool { return known[strings.TrimLeft(item, "0")] }
	}
	return []citation{
		{
			cited: regexp.MustCompile(`\b(?:[Ss]ections?|[Cc]hapters?)\s+(\d+(?:\.\d+)*(?:` + conjunction + `\d+(?:\.\d+)+\b)*)`), item: number, hint: "s", least: 200,
			foreign: func(before, after string) bool {
				return foreignBefore.MatchString(before) || foreignAfter.MatchString(after)
			},
			exists: func(item, file string) bool { // a page may mean headings of its own
				return sections[item] || path.Ext(file) == ".md" && captured(texts[file], `(?m)^#{1,4} (\d+(?:\.\d+)*)\.? `)[item]
			},
			why: "no such section in " + specification,
		},
		{cited: regexp.MustCompile(`\b[Aa]ppendix\s+([A-Z])\b`), item: anything, hint: "ppendix", exists: among(appendices), why: "no such appendix in " + specification},
		{
			cited: regexp.MustCompile(`\b[Dd]ecisions?\s+(` + decisionName + `(?:` + conjunction + decisionName + `)*)\b`),
			item:  regexp.MustCompile(decisionName), hint: "ecision", exists: among(decisions), why: "no such decision in " + specification, least: 100,
		},
		{ // in brackets: "S7", "S7, S13", and what follows a section
			cited: regexp.MustCompile(`[(\[](?:[^()\[\]\n]*\d, )?([PAWSO]\d{1,2}(?:, [PAWSO]\d{1,2})*)[)\]]`),
			item:  regexp.MustCompile(decisionName), exists: among(decisions), why: "no such decision in " + specification, least: 100,
		},
		{cited: regexp.MustCompile(`\b(?:[Dd]ecisions?\s+|docs/decisions/)(\d{1,4})\b`), item: number, hint: "ecision", exists: among(records), why: "no such record in docs/decisions", least: 5},
		{
			cited: regexp.MustCompile(`\b[Ii]ssues?\s+#?(\d+)\b`), item: number, hint: "ssue",
			foreign: func(_, after string) bool { return trackerAfter.MatchString(after) },
			exists:  func(string, string) bool { return false }, why: "a reader cannot open it: say what it says, or link a public tracker",
		},
		{
			cited: regexp.MustCompile(`(docs/[\w./-]*\w\.md\b)`), item: anything, hint: "docs/", least: 40,
			foreign: func(before, _ string) bool { return strings.Trim(pathBefore.FindString(before), "./") != "" }, // of another project
			exists:  func(item, _ string) bool { return texts[item] != "" }, why: "no such file",
		},
		{
			cited: regexp.MustCompile(`\]\(((?:[^()\s:]*\.md)?(?:#[^()\s]+)?)\)`), item: anything, hint: "](", pages: true, least: 100,
			exists: func(item, file string) bool {
				page, anchor, anchored := strings.Cut(item, "#")
				if page != "" {
					file = path.Join(path.Dir(file), page)
				}
				return anchors[file] != nil && (!anchored || anchors[file][anchor])
			},
			why: "no such page, heading or anchor",
		},
		{cited: regexp.MustCompile(`\b(Test[A-Z]\w*)\b`), item: anything, hint: "Test", pages: true, exists: func(item, _ string) bool { return tests[item] }, why: "no such test", least: 100},
	}
}

func TestEveryCitationResolves(t *testing.T) {
	texts := trackedTexts(t)
	ways := citations(texts)
	found := make([]int, len(ways))
	for name, text := range texts {
		prose := joinComments(text)
		for i, c := range ways {
			if name == thisFile || c.pages && path.Ext(name) != ".md" || !strings.Contains(prose, c.hint) {
				continue
			}
			for _, at := range c.cited.FindAllStringSubmatchIndex(prose, -1) {
				for _, in := range c.item.FindAllStringIndex(prose[at[2]:at[3]], -1) {
					from, to := at[2]+in[0], at[2]+in[1]
					if c.foreign != nil && c.foreign(prose[max(0, at[0]-60):at[0]], prose[to:]) {
						continue
					}
					if found[i]++; !c.exists(prose[from:to], name) {
						t.Errorf("%s:%d: %q: %s", name, strings.Count(prose[:from], "\n")+1, prose[at[0]:at[1]], c.why)
					}
				}
			}
		}
	}
	for i, c := range ways {
		if found[i] < c.least {
			t.Errorf("%d citations like %s were found, want at least %d: the search is broken", found[i], c.cited, c.least)
		}
	}
}

// trackedTexts is every text file of the repository, new ones included, except for test data.
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
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte{0}) {
			texts[name] = string(text)
		}
	}
	return texts
}

var lineLeader = regexp.MustCompile(`(?m)^[ \t]*(?://|#+|--|\*|>)?[ \t]*`)

// joinComments removes the markers at the beginnings of comment lines, so that a citation may
// continue on the next line.
func joinComments(text string) string { return lineLeader.ReplaceAllString(text, "") }

// captured returns what the group of a pattern matches in a text.
func captured(text, pattern string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	return all
}

var (
	linkInHeading = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	notInAnchor   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// headingAnchors is every anchor of a Markdown page, made as GitHub makes them.
func headingAnchors(text string) map[string]bool {
	anchors := captured(text, `<a id="([^"]+)"></a>`)
	for heading := range captured(text, `(?m)^#{1,6} (.+)$`) {
		words := linkInHeading.ReplaceAllString(heading, "$1")
		words = notInAnchor.ReplaceAllString(strings.ToLower(words), "")
		anchors[strings.ReplaceAll(strings.TrimSpace(words), " ", "-")] = true
	}
	return anchors
}
