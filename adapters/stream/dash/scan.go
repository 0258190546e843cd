package dash

import (
	"bytes"
	"context"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// blanks is white space as XML has it.
const blanks = " \t\r\n"

// openCDATA begins a section in which nothing is markup.
const openCDATA = "<![CDATA["

// kind is what a token is.
type kind int

const (
	opening kind = iota + 1 // <a>
	closing                 // </a>
	alone                   // <a/>
	text                    // characters or a CDATA section, as written
)

// token is a piece of an MPD. It points into the MPD's bytes and holds until
// the next one.
type token struct {
	kind       kind
	name       []byte // without its prefix
	attributes []attribute
	text       []byte
}

// attribute is one of a tag. Its value is as written, with its quotes.
type attribute struct{ prefix, name, quoted []byte }

func (a attribute) value() string { return string(a.quoted[1 : len(a.quoted)-1]) }

// scanner walks the tokens of an XML document and enforces that it is
// well-formed, and the limits of elements, depth, attributes, tags and time. It
// drops comments and processing instructions.
type scanner struct {
	ctx      context.Context
	body     []byte
	at       int // where the next token begins
	tokens   int
	elements int
	open     [][]byte // the elements that are, with their prefixes
	token    token
	err      *watch.Failure
}

// timeEvery is how many tokens pass between two looks at the clock.
const timeEvery = 256

var byteOrderMark = []byte("\xef\xbb\xbf")

// next moves to the next token and tells whether there is one; if not, err says
// whether the document came to its end.
func (s *scanner) next() bool {
	for s.err == nil {
		if s.tokens++; s.tokens%timeEvery == 1 && s.ctx.Err() != nil {
			s.err = outOfTime(s.ctx)
			return false
		}
		rest := s.body[s.at:]
		switch {
		case len(rest) == 0:
			if s.elements == 0 || len(s.open) > 0 {
				s.fail("it ends too early")
			}
			return false
		case rest[0] != '<':
			end := bytes.IndexByte(rest, '<')
			if end < 0 {
				end = len(rest)
			}
			s.at += end
			if len(s.open) > 0 {
				s.token = token{kind: text, text: rest[:end]}
				return true
			}
			if len(bytes.Trim(rest[:end], blanks)) > 0 {
				s.fail("characters outside of its elements")
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.skip(rest, "<!--", "-->")
		case bytes.HasPrefix(rest, []byte("<?")):
			s.skip(rest, "<?", "?>")
		case bytes.HasPrefix(rest, []byte(openCDATA)) && len(s.open) > 0:
			if end := s.skip(rest, openCDATA, "]]>"); end > 0 {
				s.token = token{kind: text, text: rest[:end]}
				return true
			}
		case bytes.HasPrefix(rest, []byte("<!")):
			s.fail("a DOCTYPE or another declaration, which is not supported")
		default:
			return s.tag(rest)
		}
	}
	return false
}

// skip moves behind what begins and ends so, and gives its length; 0: it does
// not end.
func (s *scanner) skip(rest []byte, begin, end string) int {
	n := bytes.Index(rest[len(begin):], []byte(end))
	if n < 0 {
		s.fail("it ends within %q", begin)
		return 0
	}
	length := len(begin) + n + len(end)
	s.at += length
	return length
}

// tag reads the tag that rest begins with.
func (s *scanner) tag(rest []byte) bool {
	within := rest[:min(len(rest), MaxTag)]
	t := reader{rest: within[1:]}
	ends := t.take("/")
	full := t.name()
	s.token = token{kind: opening, name: local(full), attributes: s.token.attributes[:0]}
	ok := len(full) > 0
	for spaced := t.space(); ok && !ends && spaced && !t.sees("/") && !t.sees(">"); spaced = t.space() {
		var a attribute
		if a, ok = t.attribute(); ok && len(s.token.attributes) == MaxAttributes {
			return s.fail("an element with more than %d attributes", MaxAttributes)
		}
		s.token.attributes = append(s.token.attributes, a)
	}
	switch {
	case ends:
		s.token.kind = closing
	case ok && t.take("/"):
		s.token.kind = alone
	}
	switch ok = ok && t.take(">"); {
	case !ok && len(t.rest) == 0 && len(rest) > MaxTag:
		return s.fail("a tag of more than %d bytes", MaxTag)
	case !ok:
		return s.fail("a tag that is not well-formed")
	}
	s.at += len(within) - len(t.rest)
	return s.nest(full)
}

// nest keeps count of the elements that are open.
func (s *scanner) nest(full []byte) bool {
	depth := len(s.open)
	if s.token.kind == closing {
		if depth == 0 || !bytes.Equal(s.open[depth-1], full) {
			return s.fail("an end tag that closes nothing")
		}
		s.open = s.open[:depth-1]
		return true
	}
	s.elements++
	switch {
	case depth == 0 && s.elements > 1:
		return s.fail("a second root element")
	case s.elements > MaxElements:
		return s.fail("more than %d elements", MaxElements)
	case depth == MaxDepth:
		return s.fail("elements more than %d deep", MaxDepth)
	case s.token.kind == opening:
		s.open = append(s.open, full)
	}
	return true
}

// fail says what is wrong, and where. It is always false.
func (s *scanner) fail(format string, args ...any) bool {
	line := bytes.Count(s.body[:s.at], []byte("\n")) + 1
	what := malformed(format, args...)
	s.err = malformed("line %d: %s", line, what.Detail)
	return false
}

// prolog gives what comes after the byte order mark, white space, comments and
// processing instructions at the start of a document.
func prolog(body []byte) []byte {
	rest := bytes.TrimPrefix(body, byteOrderMark)
	for {
		rest = bytes.TrimLeft(rest, blanks)
		var end string
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end, rest = "-->", rest[len("<!--"):]
		case bytes.HasPrefix(rest, []byte("<?")):
			end, rest = "?>", rest[len("<?"):]
		default:
			return rest
		}
		var found bool
		if _, rest, found = bytes.Cut(rest, []byte(end)); !found {
			return nil
		}
	}
}
