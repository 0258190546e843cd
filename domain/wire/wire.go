// Package wire writes values as answers, webhooks and the feed have them.
package wire

import (
	"bytes"
	"encoding/json"
	"time"
)

// Encode returns a value as one line of JSON that contains <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Time returns a time in a zone, to the millisecond (decision A11).
func Time(t time.Time, zone *time.Location) time.Time { return t.In(zone).Truncate(time.Millisecond) }

// TimeOrNull is Time, and null for the zero time.
func TimeOrNull(t time.Time, zone *time.Location) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(Time(t, zone))
}

// NoCallback is the callback_url of answers. True is null. False is left out by omitempty, because nobody is shown a callback.
type NoCallback bool

// MarshalJSON implements json.Marshaler.
func (NoCallback) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// OrNull returns null for a zero value: no status was received, no error happened.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
