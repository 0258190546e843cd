package monitor

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of metadata in addition to MaxMetadata. Within these limits, the store
// and the usual JSON libraries of receivers do not change metadata.
const (
	MaxMetadataDepth  = 32  // nested objects and arrays
	maxNumberLength   = 512 // characters of one number
	maxExponent       = 999 // of a number, positive or negative
	replacementEscape = `\ufffd`
)

// CheckMetadata returns metadata byte for byte, or {} for none. Errors:
// *Error InvalidConfig (decision A3).
func CheckMetadata(raw json.RawMessage) (json.RawMessage, error) {
	refuse := func(why string) (json.RawMessage, error) {
		return nil, OfField("metadata", Errorf(InvalidConfig,
			"metadata: %s; accepted is a JSON object of at most %d bytes and %d levels", why, MaxMetadata, MaxMetadataDepth))
	}
	if len(raw) == 0 {
		return json.RawMessage(`{}`), nil
	}
	switch {
	case len(raw) > MaxMetadata:
		return refuse("is " + strconv.Itoa(len(raw)) + " bytes long")
	case !utf8.Valid(raw):
		return refuse("is not valid UTF-8")
	case !json.Valid(raw):
		return refuse("is not valid JSON")
	case bytes.TrimLeft(raw, " \t\r\n")[0] != '{':
		return refuse("is not an object")
	}
	if at := invalidEscape(raw, 0); at >= 0 {
		return refuse(`contains ` + string(raw[at:at+6]) + `, which is not a character`)
	}
	if why := checkShape(raw); why != "" {
		return refuse(why)
	}
	return raw, nil
}

// checkShape checks the depth and the numbers of valid JSON. It returns the reason for a
// refusal, or "".
func checkShape(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	depth := 0
	for {
		token, err := dec.Token()
		if err != nil { // the end: the text is known to be valid
			return ""
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			if depth > MaxMetadataDepth {
				return "is nested too deep"
			}
		case json.Number:
			if !withinNumberLimits(string(t)) {
				return "contains a number too long or too large to be kept exactly"
			}
		}
	}
}

func withinNumberLimits(number string) bool {
	if len(number) > maxNumberLength {
		return false
	}
	_, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if !found {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// invalidEscape returns the index of the first \u escape in valid JSON, from an index on, that
// means NUL or half a surrogate pair, or -1.
func invalidEscape(raw []byte, from int) int {
	for i := from; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		r := escapedRune(raw[i:])
		switch {
		case r == 0:
			return i
		case !utf16.IsSurrogate(r):
			i += 5
		case utf16.DecodeRune(r, escapedRune(raw[i+6:])) == utf8.RuneError:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// escapedRune reads the \uXXXX at the start of b. It returns -1 if b begins otherwise.
func escapedRune(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// SanitizeJSON replaces every invalid escape in valid JSON with U+FFFD. It returns raw
// itself if every escape is valid.
func SanitizeJSON(raw []byte) []byte {
	at := invalidEscape(raw, 0)
	if at < 0 {
		return raw
	}
	raw = bytes.Clone(raw)
	for ; at >= 0; at = invalidEscape(raw, at+len(replacementEscape)) {
		copy(raw[at:], replacementEscape)
	}
	return raw
}
