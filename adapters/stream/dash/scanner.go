package dash

import (
	"bytes"
	"context"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// whitespace is white space as XML defines it.
const whitespace = " \t\r\n"

// startCDATA begins a section without markup.
const startCDATA = "<![CDATA["

// tokenKind is the kind of a token, as the XML specification names them.
type tokenKind int

const (
	startTag tokenKind = iota + 1 // <a>
	endTag                        // </a>
	emptyTag                      // <a/>
	charData                      // characters or a CDATA section, as written
)

// token is a piece of an MPD. It points into the MPD's bytes and is valid until the
// next token.
type token struct {
	kind       tokenKind
	name       []byte // without its prefix
	attributes []attribute
	text       []byte
}

// attribute is an attribute of a tag. Its value is as written, with its quotes.
type attribute struct{ prefix, name, quoted []byte }

func (a attribute) value() string { return string(a.quoted[1 : len(a.quoted)-1]) }

// scanner reads the tokens of an XML document. It enforces that the document is
// well-formed, and the limits of elements, depth, attributes, tags and time. It drops
// comments and processing instructions.
type scanner struct {
	ctx      context.Context
	body     []byte
	offset   int // of the next token
	tokens   int
	elements int
	open     [][]byte // names of the open elements, with their prefixes
	token    token
	err      *watch.Failure
}

// contextCheckInterval is how many tokens are read between two checks of the
// context.
const contextCheckInterval = 256

var byteOrderMark = []byte("\xef\xbb\xbf")

// next reads the next token and reports whether there is one. At the end of the
// document err is nil.
func (s *scanner) next() bool {
	for s.err == nil {
		if s.tokens++; s.tokens%contextCheckInterval == 1 && s.ctx.Err() != nil {
			s.err = contextFailure(s.ctx)
			return false
		}
		rest := s.body[s.offset:]
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
			s.offset += end
			if len(s.open) > 0 {
				s.token = token{kind: charData, text: rest[:end]}
				return true
			}
			if len(bytes.Trim(rest[:end], whitespace)) > 0 {
				s.fail("characters outside of the root element")
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.skip(rest, "<!--", "-->")
		case bytes.HasPrefix(rest, []byte("<?")):
			s.skip(rest, "<?", "?>")
		case bytes.HasPrefix(rest, []byte(startCDATA)) && len(s.open) > 0:
			if end := s.skip(rest, startCDATA, "]]>"); end > 0 {
				s.token = token{kind: charData, text: rest[:end]}
				return true
			}
		case bytes.HasPrefix(rest, []byte("<!")):
			s.fail("a DOCTYPE or another declaration, which is not supported")
		default:
			return s.readTag(rest)
		}
	}
	return false
}

// skip moves past a section with these delimiters and returns its length, or 0 if
// the section does not end.
func (s *scanner) skip(rest []byte, begin, end string) int {
	n := bytes.Index(rest[len(begin):], []byte(end))
	if n < 0 {
		s.fail("it ends within %q", begin)
		return 0
	}
	length := len(begin) + n + len(end)
	s.offset += length
	return length
}

// readTag reads the tag at the start of rest.
func (s *scanner) readTag(rest []byte) bool {
	limited := rest[:min(len(rest), MaxTag)]
	r := tagReader{rest: limited[1:]}
	isEnd := r.consume("/")
	qualified := r.name()
	s.token = token{kind: startTag, name: localName(qualified), attributes: s.token.attributes[:0]}
	ok := len(qualified) > 0
	for spaced := r.skipSpace(); ok && !isEnd && spaced && !r.startsWith("/") && !r.startsWith(">"); spaced = r.skipSpace() {
		var a attribute
		if a, ok = r.attribute(); ok && len(s.token.attributes) == MaxAttributes {
			return s.fail("an element with more than %d attributes", MaxAttributes)
		}
		s.token.attributes = append(s.token.attributes, a)
	}
	switch {
	case isEnd:
		s.token.kind = endTag
	case ok && r.consume("/"):
		s.token.kind = emptyTag
	}
	switch ok = ok && r.consume(">"); {
	case !ok && len(r.rest) == 0 && len(rest) > MaxTag:
		return s.fail("a tag of more than %d bytes", MaxTag)
	case !ok:
		return s.fail("a tag that is not well-formed")
	}
	s.offset += len(limited) - len(r.rest)
	return s.trackDepth(qualified)
}

// trackDepth updates the open elements for the current tag.
func (s *scanner) trackDepth(qualified []byte) bool {
	depth := len(s.open)
	if s.token.kind == endTag {
		if depth == 0 || !bytes.Equal(s.open[depth-1], qualified) {
			return s.fail("an end tag without its start tag")
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
	case s.token.kind == startTag:
		s.open = append(s.open, qualified)
	}
	return true
}

// fail sets err, with the line number. It always returns false.
func (s *scanner) fail(format string, args ...any) bool {
	line := bytes.Count(s.body[:s.offset], []byte("\n")) + 1
	s.err = malformed("line %d: %s", line, malformed(format, args...).Detail)
	return false
}

// skipProlog returns what follows the byte order mark, white space, comments and
// processing instructions at the start of a document.
func skipProlog(body []byte) []byte {
	rest := bytes.TrimPrefix(body, byteOrderMark)
	for {
		rest = bytes.TrimLeft(rest, whitespace)
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

// tagReader parses the inside of a tag.
type tagReader struct{ rest []byte }

func (r *tagReader) startsWith(text string) bool { return bytes.HasPrefix(r.rest, []byte(text)) }

// consume moves past text and reports whether it was next.
func (r *tagReader) consume(text string) bool {
	rest, ok := bytes.CutPrefix(r.rest, []byte(text))
	r.rest = rest
	return ok
}

// skipSpace moves past white space and reports whether there was any.
func (r *tagReader) skipSpace() bool {
	before := len(r.rest)
	r.rest = bytes.TrimLeft(r.rest, whitespace)
	return len(r.rest) < before
}

// name reads a name with its prefix. Without a name it returns an empty slice.
func (r *tagReader) name() []byte {
	n := leadingName(r.rest)
	r.rest = r.rest[len(n):]
	return n
}

// attribute reads name="value".
func (r *tagReader) attribute() (attribute, bool) {
	qualified := r.name()
	r.skipSpace()
	if len(qualified) == 0 || !r.consume("=") {
		return attribute{}, false
	}
	r.skipSpace()
	if len(r.rest) == 0 || r.rest[0] != '"' && r.rest[0] != '\'' {
		return attribute{}, false
	}
	end := bytes.IndexByte(r.rest[1:], r.rest[0])
	if end < 0 {
		r.rest = nil // the value may be longer than MaxTag
		return attribute{}, false
	}
	a := attribute{name: localName(qualified), quoted: r.rest[:end+2]}
	a.prefix = qualified[:len(qualified)-len(a.name)]
	r.rest = r.rest[end+2:]
	return a, bytes.IndexByte(a.quoted, '<') < 0
}

// leadingName returns the name at the start of text.
func leadingName(text []byte) []byte {
	end := bytes.IndexFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			c != ':' && c != '_' && c != '-' && c != '.' && c < 0x80
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// localName returns a name without its prefix.
func localName(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }
