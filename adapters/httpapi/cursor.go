package httpapi

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// cursor encodes where the next page of a list begins. Callers must not look into it. Its
// value is the prefix of its encodings: the list and their version.
type cursor string

const (
	incidentCursor cursor = "i1."
	monitorCursor  cursor = "m1."
)

// encode returns the cursor after the entry with this number, or nil for 0.
func (c cursor) encode(seq int64) *string {
	if seq == 0 {
		return nil
	}
	return new(base64.RawURLEncoding.EncodeToString([]byte(string(c) + strconv.FormatInt(seq, 10))))
}

func (c cursor) decode(s string) (seq int64, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return 0, false
	}
	number, ok := strings.CutPrefix(string(raw), string(c))
	seq, err = strconv.ParseInt(number, 10, 64)
	return seq, ok && err == nil && seq > 0
}
