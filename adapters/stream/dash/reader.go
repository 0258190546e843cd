package dash

import "bytes"

// reader takes a tag apart.
type reader struct{ rest []byte }

func (r *reader) sees(what string) bool { return bytes.HasPrefix(r.rest, []byte(what)) }

func (r *reader) take(what string) bool {
	rest, ok := bytes.CutPrefix(r.rest, []byte(what))
	r.rest = rest
	return ok
}

// space moves over white space and tells whether there was any.
func (r *reader) space() bool {
	before := len(r.rest)
	r.rest = bytes.TrimLeft(r.rest, blanks)
	return len(r.rest) < before
}

// name takes a name, with its prefix; empty: there is none.
func (r *reader) name() []byte {
	n := name(r.rest)
	r.rest = r.rest[len(n):]
	return n
}

// attribute takes name="value".
func (r *reader) attribute() (attribute, bool) {
	full := r.name()
	r.space()
	if len(full) == 0 || !r.take("=") {
		return attribute{}, false
	}
	r.space()
	if len(r.rest) == 0 || r.rest[0] != '"' && r.rest[0] != '\'' {
		return attribute{}, false
	}
	end := bytes.IndexByte(r.rest[1:], r.rest[0])
	if end < 0 {
		r.rest = nil // it may be longer than a tag
		return attribute{}, false
	}
	a := attribute{name: local(full), quoted: r.rest[:end+2]}
	a.prefix = full[:len(full)-len(a.name)]
	r.rest = r.rest[end+2:]
	return a, bytes.IndexByte(a.quoted, '<') < 0
}

// name is the name that text begins with.
func name(text []byte) []byte {
	end := bytes.IndexFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			c != ':' && c != '_' && c != '-' && c != '.' && c < 0x80
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// local is a name without its prefix.
func local(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }
