package dash

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// choice is which representation of a Period is wanted: Period by Period, the
// AdaptationSet and the Representation, counted from 0 within what they are in.
// Nil: all of them, without their lists of segments.
type choice map[int]place

type place struct{ set, representation int }

// sieve reads as an MPD of only those elements and attributes that the library
// is asked about. It reads to the end, or fails with the scanner's err.
type sieve struct {
	scanner

	chosen choice
	out    []byte     // written, not yet read
	within []*element // the elements that are open; nil: left out, with all in it

	period, set, representation int // index of the current one within what it is in
	sets, representations       int // in all
	descriptions, entries       int
	text                        int // bytes of the current text
	remote                      bool
}

func newSieve(ctx context.Context, body []byte, chosen choice) *sieve {
	s := &sieve{scanner: scanner{ctx: ctx, body: body}, chosen: chosen, period: -1}
	s.at = len(body) - len(bytes.TrimPrefix(body, byteOrderMark))
	return s
}

// Read implements io.Reader. Its error tells nothing: see err.
func (s *sieve) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if !s.next() {
			return 0, io.EOF
		}
		s.out = s.out[:0]
		s.put()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// drain reads to the end, for what the library did not need to read.
func (s *sieve) drain() {
	for s.next() {
		s.put()
		s.out = s.out[:0]
	}
}

// put writes the token, if it is wanted.
func (s *sieve) put() {
	t := s.token
	switch t.kind {
	case text:
		if e := s.within[len(s.within)-1]; e != nil && e.text {
			if s.text += len(t.text); s.text > MaxText {
				s.fail("%s of more than %d bytes", e.name, MaxText)
			}
			s.putText(t.text)
		}
	case closing:
		last := len(s.within) - 1
		if e := s.within[last]; e != nil {
			s.out = fmt.Appendf(s.out, "</%s>", e.name)
		}
		s.within = s.within[:last]
	case opening, alone:
		e := s.wanted()
		if s.err == nil && e != nil {
			s.putTag(e)
		}
		if t.kind == opening {
			s.within = append(s.within, e)
		}
	}
}

// putText writes characters. The library reads for ever at a > among them.
func (s *sieve) putText(text []byte) {
	if !bytes.HasPrefix(text, []byte(openCDATA)) {
		text = bytes.ReplaceAll(text, []byte(">"), []byte("&gt;"))
	}
	s.out = append(s.out, text...)
}

// wanted gives the element that the token opens; nil: it is not wanted.
func (s *sieve) wanted() *element {
	name := string(s.token.name)
	if len(s.within) == 0 {
		if name != root.name {
			s.fail("not an MPD")
		}
		return root
	}
	parent := s.within[len(s.within)-1]
	if parent == nil {
		return nil
	}
	e := parent.children[name]
	if e == nil || s.elsewhere() || !s.counted(e) {
		return nil
	}
	s.text = 0
	return e
}

// elsewhere takes note of an element whose contents are to be fetched, and
// tells whether it is one that there is to be none of (ISO/IEC 23009-1, 5.5).
func (s *sieve) elsewhere() bool {
	for _, a := range s.token.attributes {
		if len(a.prefix) > 0 && string(a.name) == "href" {
			if a.value() == "urn:mpeg:dash:resolve-to-zero:2013" {
				return true
			}
			s.remote = true
		}
	}
	return false
}

// counted counts an element and tells whether it belongs to what was chosen.
func (s *sieve) counted(e *element) bool {
	wanted, some := s.chosen[s.period]
	switch e.name {
	case namePeriod:
		s.period, s.set = s.period+1, -1
		return s.most(s.period+1, MaxPeriods, "Periods")
	case nameAdaptationSet:
		s.set, s.representation = s.set+1, -1
		s.sets++
		return s.most(s.sets, MaxAdaptationSets, "AdaptationSets") && (s.chosen == nil || some && s.set == wanted.set)
	case nameRepresentation:
		s.representation++
		s.representations++
		return s.most(s.representations, MaxRepresentations, "Representations") &&
			(s.chosen == nil || s.representation == wanted.representation)
	case nameS, nameSegmentURL:
		if !some {
			return false
		}
		s.entries++
		return s.most(s.entries, MaxEntries, "segments and runs of them in one representation")
	}
	s.descriptions++
	return s.most(s.descriptions, MaxDescriptions, "elements that describe representations")
}

func (s *sieve) most(n, limit int, of string) bool {
	return n <= limit || s.fail("more than %d %s", limit, of)
}

// putTag writes the token's tag with the attributes that matter.
func (s *sieve) putTag(e *element) {
	s.out = fmt.Appendf(s.out, "<%s", e.name)
	for i, a := range s.token.attributes {
		form, known := e.attributes[string(a.name)]
		if !known || len(a.prefix) > 0 {
			continue
		}
		for _, before := range s.token.attributes[:i] {
			if string(before.name) == string(a.name) && len(before.prefix) == 0 {
				s.fail("%s@%s is there twice", e.name, a.name)
			}
		}
		switch form {
		case asWritten:
			s.out = fmt.Appendf(s.out, " %s=%s", a.name, a.quoted)
		case duration:
			d, ok := parseDuration(a.value())
			if !ok {
				s.fail("%s@%s is not a duration of up to %d years", e.name, a.name, MaxTime/(365*24*time.Hour))
			}
			s.out = fmt.Appendf(s.out, " %s=\"PT%d.%09dS\"", a.name, d/time.Second, d%time.Second)
		case refused:
			s.fail("%s@%s is not supported", e.name, a.name)
		}
	}
	if s.token.kind == alone {
		s.out = append(s.out, '/')
	}
	s.out = append(s.out, '>')
}
