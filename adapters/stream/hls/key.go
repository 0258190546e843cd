package hls

import (
	"cmp"
	"encoding/binary"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// keyTag is an EXT-X-KEY that can be used: METHOD=AES-128, with the key at a URL.
type keyTag struct {
	uri      string // as in the tag
	absolute string // set by forSequence: all segments share one string
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

// add parses an EXT-X-KEY and returns the problem of a malformed one. A tag that cannot be
// used matters only when a segment needs it: another tag may follow that can be used.
func (k *keyState) add(list []byte) (problem string) {
	a, ok := parseAttributes(list)
	method, identity := a["METHOD"], a["KEYFORMAT"] == "" || a["KEYFORMAT"] == "identity"
	tag := &keyTag{uri: a["URI"]}
	switch {
	case !ok || method == "":
		problem = "EXT-X-KEY has no METHOD or is not an attribute list"
	case method == "NONE":
		*k = keyState{}
		return ""
	case !identity:
		k.otherError = unsupportedMethod(method)
		return ""
	case method != "AES-128":
		k.identity, k.identityError = nil, unsupportedMethod(method)
		return ""
	case tag.uri == "":
		problem = "EXT-X-KEY has no URI"
	}
	if text, stated := a["IV"]; stated && problem == "" {
		if tag.iv, ok = parseIV(text); !ok {
			problem = "IV of EXT-X-KEY is not 0x and up to 32 hexadecimal digits"
		}
	}
	k.identity = tag
	if problem != "" {
		k.identity, k.identityError = nil, problem
	}
	return problem
}

func unsupportedMethod(method string) string {
	const maxLength = 32
	if len(method) > maxLength || !isAttributeName([]byte(method)) {
		method = "a method without a name"
	}
	return "encrypted with " + method + ", which only a licensed player can read"
}

// current returns the tag that decrypts the next segment, or nil if it is not
// encrypted. Its problem is why the segment cannot be decrypted.
func (k *keyState) current() (tag *keyTag, problem string) {
	if k.identity != nil {
		return k.identity, ""
	}
	return nil, cmp.Or(k.identityError, k.otherError)
}

// forSequence returns the Key of the segment with this sequence number (RFC 8216, 5.2), or
// nil if t is nil. Its problem is why the key cannot be fetched.
func (t *keyTag) forSequence(base *url.URL, sequence uint64) (key *watch.Key, problem string) {
	if t == nil {
		return nil, ""
	}
	if t.absolute == "" {
		if t.absolute, problem = resolve(base, t.uri); problem != "" {
			return nil, "the URI of EXT-X-KEY is " + problem
		}
	}
	iv := t.iv
	if iv == nil {
		iv = make([]byte, ivBytes)
		binary.BigEndian.PutUint64(iv[ivBytes-8:], sequence)
	}
	return &watch.Key{URI: t.absolute, IV: iv}, ""
}

// initTag is an EXT-X-MAP: the init section of every segment until the next
// EXT-X-MAP (RFC 8216, 4.3.2.5).
type initTag struct {
	uri       string // as in the tag
	byteRange *watch.ByteRange
	key       *keyTag
	shared    *watch.Init // set by initSection: all segments share one
	problem   string      // why the init section cannot be used
}

// addMap parses an EXT-X-MAP and returns the problem of one that cannot be used. If a key is
// in force, the init section is encrypted. The key's IV has to be stated then: an init
// section has no sequence number.
func (s *mediaScan) addMap(list []byte) (problem string) {
	a, ok := parseAttributes(list)
	tag := &initTag{uri: a["URI"]}
	if !ok || tag.uri == "" {
		problem = "EXT-X-MAP has no URI or is not an attribute list"
	}
	if problem == "" {
		tag.key, problem = s.keys.current()
	}
	if tag.key != nil && tag.key.iv == nil {
		problem = "EXT-X-MAP is encrypted, and its EXT-X-KEY states no IV"
	}
	if text := a["BYTERANGE"]; text != "" && problem == "" {
		byteRange, ok := parseByteRange([]byte(text))
		if !ok {
			problem = "BYTERANGE of EXT-X-MAP is not a byte range"
		}
		byteRange.Offset = max(0, byteRange.Offset)
		tag.byteRange = &byteRange
	}
	tag.problem, s.init = problem, tag
	return problem
}

// initSection returns the Init of the tag, or nil if t is nil.
func (t *initTag) initSection(base *url.URL) (init *watch.Init, problem string) {
	if t == nil {
		return nil, ""
	}
	if t.shared == nil && t.problem == "" {
		t.shared = &watch.Init{Range: t.byteRange}
		if t.shared.URI, problem = resolve(base, t.uri); problem != "" {
			t.problem = "the URI of EXT-X-MAP is " + problem
		} else {
			t.shared.Key, t.problem = t.key.forSequence(base, 0) // its IV is stated
		}
	}
	return t.shared, t.problem
}
