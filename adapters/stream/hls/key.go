package hls

import (
	"encoding/binary"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// keyTag is an EXT-X-KEY that can be used: METHOD=AES-128, with the key at a URL.
type keyTag struct {
	uri      string // as in the tag
	absolute string // set by key: all segments share one string
	iv       []byte // 16 bytes; nil: the sequence number is the IV
}

// keyState holds the EXT-X-KEY tags in force. A tag is in force until the next one
// with the same KEYFORMAT, so several may apply to one segment (RFC 8216, 4.3.2.4).
// METHOD=NONE ends all of them.
type keyState struct {
	identity      *keyTag // of KEYFORMAT identity
	identityError string  // why the tag of KEYFORMAT identity cannot be used
	otherError    string  // why the tags of other KEYFORMATs cannot be used
}

// add parses an EXT-X-KEY. A tag that cannot be used is an error only when a segment
// needs it: another tag may follow that can be used.
func (k *keyState) add(list []byte) *watch.Failure {
	a, ok := parseAttributes(list)
	if !ok || a["METHOD"] == "" {
		return malformed("EXT-X-KEY has no METHOD or is not an attribute list")
	}
	method, identity := a["METHOD"], a["KEYFORMAT"] == "" || a["KEYFORMAT"] == "identity"
	switch {
	case method == "NONE":
		*k = keyState{}
		return nil
	case !identity:
		k.otherError = unsupportedMethod(method)
		return nil
	case method != "AES-128":
		k.identity, k.identityError = nil, unsupportedMethod(method)
		return nil
	case a["URI"] == "":
		return malformed("EXT-X-KEY has no URI")
	}
	tag := &keyTag{uri: a["URI"]}
	if text, stated := a["IV"]; stated {
		if tag.iv, ok = parseIV(text); !ok {
			return malformed("IV of EXT-X-KEY is not 0x and up to 32 hexadecimal digits")
		}
	}
	k.identity = tag
	return nil
}

func unsupportedMethod(method string) string {
	const maxLength = 32
	if len(method) > maxLength || !isAttributeName([]byte(method)) {
		method = "a method without a name"
	}
	return "encrypted with " + method + ", which only a licensed player can read"
}

// current returns the tag that decrypts the next segment, or nil if it is not
// encrypted.
func (k *keyState) current() (*keyTag, *watch.Failure) {
	switch {
	case k.identity != nil:
		return k.identity, nil
	case k.identityError != "":
		return nil, malformed("%s", k.identityError)
	case k.otherError != "":
		return nil, malformed("%s", k.otherError)
	}
	return nil, nil
}

// key returns the Key of the segment with this sequence number (RFC 8216, 5.2), or
// nil if t is nil.
func (t *keyTag) key(base *url.URL, sequence uint64) (*watch.Key, *watch.Failure) {
	if t == nil {
		return nil, nil
	}
	if t.absolute == "" {
		absolute, ok := resolve(base, t.uri)
		if !ok {
			return nil, malformed("the URI of EXT-X-KEY is %s", urlProblem)
		}
		t.absolute = absolute
	}
	iv := t.iv
	if iv == nil {
		iv = make([]byte, ivBytes)
		binary.BigEndian.PutUint64(iv[ivBytes-8:], sequence)
	}
	return &watch.Key{URI: t.absolute, IV: iv}, nil
}

// initTag is an EXT-X-MAP: the init section of every segment until the next
// EXT-X-MAP (RFC 8216, 4.3.2.5).
type initTag struct {
	uri       string // as in the tag
	byteRange *watch.ByteRange
	key       *keyTag
	shared    *watch.Init // set by init: all segments share one
}

// addMap parses an EXT-X-MAP. If a key is in force, the init section is encrypted.
// The key's IV has to be stated then: an init section has no sequence number.
func (s *mediaScan) addMap(list []byte) *watch.Failure {
	a, ok := parseAttributes(list)
	if !ok || a["URI"] == "" {
		return malformed("EXT-X-MAP has no URI or is not an attribute list")
	}
	key, failure := s.keys.current()
	if failure != nil {
		return failure
	}
	if key != nil && key.iv == nil {
		return malformed("EXT-X-MAP is encrypted, and its EXT-X-KEY states no IV")
	}
	tag := &initTag{uri: a["URI"], key: key}
	if text := a["BYTERANGE"]; text != "" {
		byteRange, ok := parseByteRange([]byte(text))
		if !ok {
			return malformed("BYTERANGE of EXT-X-MAP is not a byte range")
		}
		byteRange.Offset = max(0, byteRange.Offset)
		tag.byteRange = &byteRange
	}
	s.init = tag
	return nil
}

// initSection returns the Init of the tag, or nil if t is nil.
func (t *initTag) initSection(base *url.URL) (*watch.Init, *watch.Failure) {
	if t == nil {
		return nil, nil
	}
	if t.shared == nil {
		uri, ok := resolve(base, t.uri)
		if !ok {
			return nil, malformed("the URI of EXT-X-MAP is %s", urlProblem)
		}
		key, err := t.key.key(base, 0) // its IV is stated
		if err != nil {
			return nil, err
		}
		t.shared = &watch.Init{URI: uri, Range: t.byteRange, Key: key}
	}
	return t.shared, nil
}
