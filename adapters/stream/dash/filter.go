package dash

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// selection maps the index of a Period to its selected Representation. Nil selects
// all Representations, without their lists of segments.
type selection map[int]position

// position is the index of an AdaptationSet within its Period, and that of a
// Representation within its AdaptationSet. Both count from 0.
type position struct{ set, representation int }

// filter reads as an MPD with only those elements and attributes that are used. It
// reads to the end of the document, or fails with the scanner's err.
type filter struct {
	scanner

	selected selection
	out      []byte     // written, not yet read
	stack    []*element // open elements; nil: dropped, with everything inside

	period, set, representation int // indexes of the current ones, as in position
	sets, representations       int // in all Periods
	descriptions, entries       int
	textBytes                   int    // of the current text
	hasRemote                   bool   // an element has its contents at another URL (xlink)
	defect                      string // the first value that was left out
}

func newFilter(ctx context.Context, body []byte, selected selection) *filter {
	f := &filter{scanner: scanner{ctx: ctx, body: body}, selected: selected, period: -1}
	f.offset = len(body) - len(bytes.TrimPrefix(body, byteOrderMark))
	return f
}

// Read implements io.Reader. Its error is always io.EOF; the scanner's err says why.
func (f *filter) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if !f.next() {
			return 0, io.EOF
		}
		f.out = f.out[:0]
		f.writeToken()
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// drain checks the part of the document that the library did not read.
func (f *filter) drain() {
	for f.next() {
		f.writeToken()
		f.out = f.out[:0]
	}
}

// writeToken writes the current token unless it is dropped.
func (f *filter) writeToken() {
	t := f.token
	switch t.kind {
	case charData:
		if e := f.stack[len(f.stack)-1]; e != nil && e.hasText {
			if f.textBytes += len(t.text); f.textBytes > MaxText {
				f.fail("%s of more than %d bytes", e.name, MaxText)
			}
			f.writeText(t.text)
		}
	case endTag:
		last := len(f.stack) - 1
		if e := f.stack[last]; e != nil {
			f.out = fmt.Appendf(f.out, "</%s>", e.name)
		}
		f.stack = f.stack[:last]
	case startTag, emptyTag:
		e := f.currentElement()
		if f.err == nil && e != nil {
			f.writeTag(e)
		}
		if t.kind == startTag {
			f.stack = append(f.stack, e)
		}
	}
}

// writeText writes characters. It escapes ">", on which the library loops for ever.
func (f *filter) writeText(text []byte) {
	if !bytes.HasPrefix(text, []byte(startCDATA)) {
		text = bytes.ReplaceAll(text, []byte(">"), []byte("&gt;"))
	}
	f.out = append(f.out, text...)
}

// currentElement returns the schema of the element that the token opens, or nil if
// the element is dropped.
func (f *filter) currentElement() *element {
	name := string(f.token.name)
	if len(f.stack) == 0 {
		if name != schema.name {
			f.fail("not an MPD")
		}
		return schema
	}
	parent := f.stack[len(f.stack)-1]
	if parent == nil {
		return nil
	}
	e := parent.children[name]
	if e == nil || f.resolvesToZero() || f.isUntimed(e) || !f.count(e) {
		return nil
	}
	f.textBytes = 0
	return e
}

// resolvesToZero reports whether a remote element stands for no element (ISO/IEC
// 23009-1, 5.5). It sets hasRemote for every other remote element.
func (f *filter) resolvesToZero() bool {
	for _, a := range f.token.attributes {
		if len(a.prefix) > 0 && string(a.name) == "href" {
			if a.value() == "urn:mpeg:dash:resolve-to-zero:2013" {
				return true
			}
			f.hasRemote = true
		}
	}
	return false
}

// isUntimed reports whether an element is a Period with a start or a duration that cannot be read.
func (f *filter) isUntimed(e *element) bool {
	if e.name != namePeriod {
		return false
	}
	return slices.ContainsFunc(f.token.attributes, func(a attribute) bool {
		_, ok := parseDuration(a.value())
		untimed := len(a.prefix) == 0 && e.attributes[string(a.name)] == rewrittenDuration && !ok
		if untimed {
			f.noteDuration(e, a)
		}
		return untimed
	})
}

func (f *filter) noteDuration(e *element, a attribute) {
	f.defect = cmp.Or(f.defect, fmt.Sprintf("%s@%s is not a duration of up to %d years", e.name, a.name, MaxTime/(365*24*time.Hour)))
}

// count counts an element against its limit and reports whether it belongs to the
// selection.
func (f *filter) count(e *element) bool {
	selected, ok := f.selected[f.period]
	switch e.name {
	case namePeriod:
		f.period, f.set = f.period+1, -1
		return f.checkLimit(f.period+1, MaxPeriods, "Periods")
	case nameAdaptationSet:
		f.set, f.representation = f.set+1, -1
		f.sets++
		return f.checkLimit(f.sets, MaxAdaptationSets, "AdaptationSets") && (f.selected == nil || ok && f.set == selected.set)
	case nameRepresentation:
		f.representation++
		f.representations++
		return f.checkLimit(f.representations, MaxRepresentations, "Representations") &&
			(f.selected == nil || f.representation == selected.representation)
	case nameS, nameSegmentURL:
		if !ok {
			return false
		}
		f.entries++
		return f.checkLimit(f.entries, MaxEntries, "S and SegmentURL elements in one representation")
	}
	f.descriptions++
	return f.checkLimit(f.descriptions, MaxDescriptions, "elements that describe representations")
}

func (f *filter) checkLimit(n, limit int, unit string) bool {
	return n <= limit || f.fail("more than %d %s", limit, unit)
}

// writeTag writes the current tag with the attributes of e.
func (f *filter) writeTag(e *element) {
	f.out = fmt.Appendf(f.out, "<%s", e.name)
	unusable := ""
	for i, a := range f.token.attributes {
		rule, used := e.attributes[string(a.name)]
		if !used || len(a.prefix) > 0 {
			continue
		}
		for _, earlier := range f.token.attributes[:i] {
			if string(earlier.name) == string(a.name) && len(earlier.prefix) == 0 {
				f.fail("%s@%s is there twice", e.name, a.name)
			}
		}
		switch rule {
		case wholeNumber:
			if !isWholeNumber(string(a.name), a.value()) {
				f.defect = cmp.Or(f.defect, fmt.Sprintf("%s@%s is not a whole number", e.name, a.name))
				unusable = e.unusable
				continue
			}
			fallthrough
		case copied:
			f.out = fmt.Appendf(f.out, " %s=%s", a.name, a.quoted)
		case rewrittenDuration:
			d, ok := parseDuration(a.value())
			if !ok {
				f.noteDuration(e, a)
				continue
			}
			f.out = fmt.Appendf(f.out, " %s=\"PT%d.%09dS\"", a.name, d/time.Second, d%time.Second)
		}
	}
	f.out = append(f.out, unusable...)
	if f.token.kind == emptyTag {
		f.out = append(f.out, '/')
	}
	f.out = append(f.out, '>')
}
