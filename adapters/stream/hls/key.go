package hls

import (
	"encoding/binary"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// keyTag is an EXT-X-KEY that anybody can decrypt with: AES-128, and the key
// itself at a URL.
type keyTag struct {
	written string // its URI
	uri     string // absolute, once it was asked for: one string for all segments
	iv      []byte // 16 bytes; nil: made of the sequence number
}

// locks are the EXT-X-KEY tags in force. One goes on until the next of the same
// KEYFORMAT, so that several may be in force at a time, for the same segment
// (RFC 8216, 4.3.2.4). METHOD=NONE ends all of them.
type locks struct {
	own    *keyTag // of KEYFORMAT identity
	ownBar string  // why that of KEYFORMAT identity cannot be used
	others string  // why those of the other KEYFORMATs cannot be used
}

// add takes an EXT-X-KEY. One that cannot be used is no failure before there is
// something to decrypt with it: the next may be of use.
func (l *locks) add(list []byte) *watch.Failure {
	a, ok := attributes(list)
	if !ok || a["METHOD"] == "" {
		return malformed("EXT-X-KEY has no METHOD or is not an attribute list")
	}
	method, identity := a["METHOD"], a["KEYFORMAT"] == "" || a["KEYFORMAT"] == "identity"
	switch {
	case method == "NONE":
		*l = locks{}
		return nil
	case !identity:
		l.others = barred(method)
		return nil
	case method != "AES-128":
		l.own, l.ownBar = nil, barred(method)
		return nil
	case a["URI"] == "":
		return malformed("EXT-X-KEY has no URI")
	}
	k := &keyTag{written: a["URI"]}
	if text, stated := a["IV"]; stated {
		if k.iv, ok = vector(text); !ok {
			return malformed("IV of EXT-X-KEY is not 0x and up to 32 hexadecimal digits")
		}
	}
	l.own = k
	return nil
}

// barred names what something is encrypted with that cannot be decrypted here.
func barred(method string) string {
	const longest = 32
	if len(method) > longest || !isName([]byte(method)) {
		method = "a method without a name"
	}
	return "encrypted with " + method + ", which only a licensed player can read"
}

// key tells what to decrypt with from here on; nil: nothing is encrypted.
func (l *locks) key() (*keyTag, *watch.Failure) {
	switch {
	case l.own != nil:
		return l.own, nil
	case l.ownBar != "":
		return nil, malformed("%s", l.ownBar)
	case l.others != "":
		return nil, malformed("%s", l.others)
	}
	return nil, nil
}

// of makes the Key of the segment with this sequence number (RFC 8216, 5.2).
func (k *keyTag) of(base *url.URL, sequence uint64) (*watch.Key, *watch.Failure) {
	if k == nil {
		return nil, nil
	}
	if k.uri == "" {
		uri, ok := resolve(base, k.written)
		if !ok {
			return nil, malformed("the URI of EXT-X-KEY is %s", notAURL)
		}
		k.uri = uri
	}
	iv := k.iv
	if iv == nil {
		iv = make([]byte, ivBytes)
		binary.BigEndian.PutUint64(iv[ivBytes-8:], sequence)
	}
	return &watch.Key{URI: k.uri, IV: iv}, nil
}
