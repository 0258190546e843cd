package hls

import "bytes"

// attributes reads an attribute list (RFC 8216, 4.2). Quotes are taken off the
// values. A list that is empty or not well-formed, names an attribute twice or
// has more than MaxAttributes is refused: decoders disagree about those.
func attributes(list []byte) (map[string]string, bool) {
	found := map[string]string{}
	for first := true; first || len(list) > 0; first = false {
		name, rest, ok := bytes.Cut(list, []byte("="))
		name = bytes.TrimLeft(name, " \t")
		if _, twice := found[string(name)]; !ok || twice || !isName(name) || len(found) == MaxAttributes {
			return nil, false
		}
		value, rest, ok := attributeValue(rest)
		if !ok {
			return nil, false
		}
		found[string(name)] = string(value)
		list = rest
	}
	return found, true
}

// attributeValue takes the value at the start of list and the comma after it.
func attributeValue(list []byte) (value, rest []byte, ok bool) {
	if len(list) > 0 && list[0] == '"' {
		value, rest, ok = bytes.Cut(list[1:], []byte(`"`))
		if rest = bytes.TrimSpace(rest); !ok || len(rest) == 0 {
			return value, nil, ok
		}
		return value, rest[1:], rest[0] == ','
	}
	value, rest, _ = bytes.Cut(list, []byte(","))
	value = bytes.TrimSpace(value)
	return value, rest, len(value) > 0 && !bytes.ContainsRune(value, '"')
}

func isName(name []byte) bool {
	for _, c := range name {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) > 0
}
