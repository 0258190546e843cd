package docs_test

import (
	"path"
	"regexp"
	"sort"
	"strings"
)

// targets is everything that a citation may point to.
type targets struct {
	sections   map[string]bool // of the specification: 7, 7.6, 2.2.1
	appendices map[string]bool // A, B, C
	decisions  map[string]bool // S7, C31
	records    map[string]bool // of docs/decisions: 0007
	files      map[string]bool // paths from the root
	anchors    map[string]map[string]bool
	tests      map[string]bool // names of test functions
}

// problem is a citation that does not resolve.
type problem struct {
	line int
	text string
	why  string
}

// counts is how many citations of each kind were seen.
type counts struct{ sections, decisions, paths int }

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
	testCited   = regexp.MustCompile(`\bTest[A-Z]\w*\b`)
	testFunc    = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
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

// scan is the search of one file.
type scan struct {
	targets

	name     string
	prose    string
	lineOf   func(at int) int
	seen     *counts
	problems []problem
}

// check lists the citations in text that do not resolve, and adds all that it
// finds to seen.
func (k targets) check(name, text string, seen *counts) []problem {
	prose, lineOf := joinComments(text)
	s := &scan{targets: k, name: name, prose: prose, lineOf: lineOf, seen: seen}
	s.checkSections(text)
	s.checkDecisions()
	s.checkIssues()
	s.checkPaths()
	if path.Ext(name) == ".md" {
		s.checkLinks()
		s.checkTests()
	}
	return s.problems
}

func (s *scan) report(at int, text, why string) {
	s.problems = append(s.problems, problem{s.lineOf(at), text, why})
}

// checkSections checks sections, chapters and appendices. A page with numbered
// headings of its own may mean those.
func (s *scan) checkSections(text string) {
	var own map[string]bool
	if path.Ext(s.name) == ".md" {
		own = numberedHeadings(text)
	}
	for _, m := range find(sectionCited, s.prose, "ection") {
		if foreignBefore.MatchString(s.prose[max(0, m[0]-60):m[0]]) || foreignAfter.MatchString(s.prose[m[1]:]) {
			continue
		}
		for _, item := range sectionItem.FindAllStringIndex(s.prose[m[2]:m[3]], -1) {
			number, after := s.prose[m[2]+item[0]:m[2]+item[1]], s.prose[m[2]+item[1]:]
			if unitAfter.MatchString(after) {
				continue // "section 7.6, 0.5 s later", "an initialisation section 16 bytes long"
			}
			s.seen.sections++
			if !own[number] && !s.sections[number] {
				s.report(m[0], number, "no such section in "+specification)
			}
		}
	}
	for _, m := range find(chapterCited, s.prose, "hapter") {
		for _, number := range sectionItem.FindAllString(s.prose[m[2]:m[3]], -1) {
			s.seen.sections++
			if !s.sections[number] {
				s.report(m[0], number, "no such chapter in "+specification)
			}
		}
	}
	for _, m := range find(appendixCited, s.prose, "ppendix") {
		if letter := s.prose[m[2]:m[3]]; !s.appendices[letter] {
			s.report(m[0], letter, "no such appendix in "+specification)
		}
	}
}

func (s *scan) checkDecisions() {
	for _, m := range append(find(decisionCited, s.prose, "ecision"), bracketed(s.prose)...) {
		for _, decision := range decisionItem.FindAllString(s.prose[m[2]:m[3]], -1) {
			s.seen.decisions++
			if !s.decisions[decision] {
				s.report(m[0], decision, "no such decision in "+specification)
			}
		}
	}
	for _, m := range find(recordCited, s.prose, "ecision") {
		number := s.prose[m[2]:m[3]]
		if !s.records[strings.Repeat("0", 4-len(number))+number] {
			s.report(m[0], number, "no such record in docs/decisions")
		}
	}
}

func (s *scan) checkIssues() {
	for _, m := range find(issueCited, s.prose, "ssue") {
		if !trackerAfter.MatchString(s.prose[m[1]:]) {
			s.report(m[0], s.prose[m[0]:m[1]], "a reader cannot open it: say what it says, or link a public tracker")
		}
	}
}

// checkPaths checks paths of pages and records.
func (s *scan) checkPaths() {
	for _, m := range find(recordPath, s.prose, "docs/") {
		s.seen.paths++
		if !s.records[s.prose[m[2]:m[3]]] {
			s.report(m[0], s.prose[m[0]:m[1]], "no such record")
		}
	}
	for _, m := range find(pagePath, s.prose, "docs/") {
		file := s.prose[m[0]:m[1]]
		before := pathBefore.FindString(s.prose[max(0, m[0]-60):m[0]])
		if strings.Trim(before, "./") != "" {
			continue // of another project
		}
		s.seen.paths++
		if !s.files[file] {
			s.report(m[0], file, "no such file")
		}
	}
}

// checkLinks checks the links of a page to pages and headings.
func (s *scan) checkLinks() {
	for _, m := range find(pageLink, s.prose, "](") {
		file, anchor := s.name, ""
		if m[2] >= 0 {
			file = path.Join(path.Dir(s.name), s.prose[m[2]:m[3]])
		}
		if m[4] >= 0 {
			anchor = s.prose[m[4]:m[5]]
		}
		s.seen.paths++
		if anchors, ok := s.anchors[file]; !ok {
			s.report(m[0], file, "no such file")
		} else if anchor != "" && !anchors[anchor[1:]] {
			s.report(m[0], file+anchor, "no such heading or anchor")
		}
	}
}

// checkTests checks the names of tests on a page.
func (s *scan) checkTests() {
	for _, m := range find(testCited, s.prose, "Test") {
		if name := s.prose[m[0]:m[1]]; !s.tests[name] {
			s.report(m[0], name, "no such test")
		}
	}
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

// joinComments removes the markers at the beginnings of comment lines, so that a
// citation may continue on the next line. lineOf gives the line of an offset.
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
	k := targets{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
	for name, text := range texts {
		k.files[name] = true
		if m := recordFile.FindStringSubmatch(name); m != nil {
			k.records[m[1]] = true
		}
		for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
			k.tests[m[1]] = true
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
