package httpapi

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// cursor is the kind of the cursors of one list, which say where its next page begins.
// Callers must not look into them. Its value is the prefix of what they contain: the list
// and the version of their form.
type cursor string

const (
	auditCursor    cursor = "a1."
	deliveryCursor cursor = "d1."
	incidentCursor cursor = "i1."
	monitorCursor  cursor = "m1."
)

// encode returns the cursor of a place in the list.
func (c cursor) encode(place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(c) + place))
}

// decode returns the place of a cursor. ok is false for one of another list.
func (c cursor) decode(s string) (place string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(raw), string(c))
}

// encodeSeq returns the cursor after the entry with this number, or nil for 0.
func (c cursor) encodeSeq(seq int64) *string {
	if seq == 0 {
		return nil
	}
	return new(c.encode(strconv.FormatInt(seq, 10)))
}

func (c cursor) decodeSeq(s string) (seq int64, ok bool) {
	place, ok := c.decode(s)
	seq, err := strconv.ParseInt(place, 10, 64)
	return seq, ok && err == nil && seq > 0
}
