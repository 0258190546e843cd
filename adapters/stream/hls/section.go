package hls

import (
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// section is an EXT-X-MAP: an initialisation section, which goes before every
// segment from here to the next EXT-X-MAP (RFC 8216, 4.3.2.5).
type section struct {
	written string // its URI
	part    *watch.ByteRange
	key     *keyTag
	made    *watch.Init // once it was asked for: the same for all segments
}

// addMap takes an EXT-X-MAP. What is encrypted has a key in force at the tag,
// and its IV has to be stated: there is no sequence number to make it of.
func (d *draft) addMap(list []byte) *watch.Failure {
	a, ok := attributes(list)
	if !ok || a["URI"] == "" {
		return malformed("EXT-X-MAP has no URI or is not an attribute list")
	}
	key, locked := d.locks.key()
	if locked != nil {
		return locked
	}
	if key != nil && key.iv == nil {
		return malformed("EXT-X-MAP is encrypted, and its EXT-X-KEY states no IV")
	}
	s := &section{written: a["URI"], key: key}
	if text := a["BYTERANGE"]; text != "" {
		part, ok := byteRange([]byte(text))
		if !ok {
			return malformed("BYTERANGE of EXT-X-MAP is not a byte range")
		}
		part.Offset = max(0, part.Offset)
		s.part = &part
	}
	d.init = s
	return nil
}

// of makes the Init that s stands for; nil: none.
func (s *section) of(base *url.URL) (*watch.Init, *watch.Failure) {
	if s == nil {
		return nil, nil
	}
	if s.made == nil {
		uri, ok := resolve(base, s.written)
		if !ok {
			return nil, malformed("the URI of EXT-X-MAP is %s", notAURL)
		}
		key, err := s.key.of(base, 0) // its IV is stated
		if err != nil {
			return nil, err
		}
		s.made = &watch.Init{URI: uri, Range: s.part, Key: key}
	}
	return s.made, nil
}
