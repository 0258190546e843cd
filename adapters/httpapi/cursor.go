package httpapi

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// cursor is the kind of the cursors of one list, which say where its next page begins.
// Callers must not look into them. Its value is the prefix of what they contain: the list
// and the version of their form.
type cursor string

const (
	auditCursor    cursor = "a1."
	deliveryCursor cursor = "d1."
	endedCursor    cursor = "e1."
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

// readSeq reads the parameter with a cursor of the list. It returns 0 if it is left out.
func (c cursor) readSeq(query url.Values, name string) (seq int64, err error) {
	if !query.Has(name) {
		return 0, nil
	}
	place, ok := c.decode(query.Get(name))
	if seq, err = strconv.ParseInt(place, 10, 64); !ok || err != nil || seq <= 0 {
		return 0, refuseCursor(query, name)
	}
	return seq, nil
}

func refuseCursor(query url.Values, name string) error {
	return monitor.FieldErrorf(name, "is %.80q; accepted is the next of an earlier page", query.Get(name))
}
