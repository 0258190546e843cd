package logging

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// timeFormat is RFC 3339 with milliseconds and the zone's offset (section 11.2).
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Verbatim is a text that is logged unchanged. A link for whoever reads the log keeps its
// query, which is removed from other URLs.
type Verbatim string

// object is the data of a line: its members in order, each key once.
type object struct{ members []member }

// member is a value or a nested object.
type member struct {
	key   string
	value json.RawMessage // if inner is nil
	inner *object
}

// add adds an attribute to o. A group becomes a nested object; without a name its
// attributes join o. An empty attribute is left out.
func (o *object) add(a slog.Attr, zone *time.Location) {
	v := resolve(a.Value)
	if v.Kind() == slog.KindGroup {
		into := o
		if len(v.Group()) > 0 && a.Key != "" {
			into = o.group(a.Key)
		}
		for _, inner := range v.Group() {
			into.add(inner, zone)
		}
		return
	}
	if a.Equal(slog.Attr{}) {
		return
	}
	o.set(member{key: a.Key, value: encode(v, zone)})
}

// group returns the object under key, and makes it if needed.
func (o *object) group(key string) *object {
	for _, m := range o.members {
		if m.inner != nil && m.key == key {
			return m.inner
		}
	}
	inner := &object{}
	o.set(member{key: key, inner: inner})
	return inner
}

// set keeps the last of several values under one key.
func (o *object) set(m member) {
	for i := range o.members {
		if o.members[i].key == m.key {
			o.members[i] = m
			return
		}
	}
	o.members = append(o.members, m)
}

// empty reports whether there is nothing to write: no member, or only empty groups.
func (o *object) empty() bool {
	for _, m := range o.members {
		if m.inner == nil || !m.inner.empty() {
			return false
		}
	}
	return true
}

// write appends o as JSON.
func (o *object) write(b *bytes.Buffer) {
	b.WriteByte('{')
	first := true
	for _, m := range o.members {
		if m.inner != nil && m.inner.empty() {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(quote(m.key))
		b.WriteByte(':')
		if m.inner != nil {
			m.inner.write(b)
		} else {
			b.Write(m.value)
		}
	}
	b.WriteByte('}')
}

// encode turns any value into JSON: a duration into seconds, a time into RFC 3339 in
// zone, an error into its text. It removes secrets from URLs.
func encode(v slog.Value, zone *time.Location) (out json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			out = quote(fmt.Sprintf("panic while logging: %v", p))
		}
	}()
	switch v.Kind() {
	case slog.KindString:
		return quote(redact(v.String()))
	case slog.KindDuration:
		return number(v.Duration().Seconds())
	case slog.KindTime:
		return quote(v.Time().In(zone).Format(timeFormat))
	case slog.KindFloat64:
		return number(v.Float64())
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return json.RawMessage(v.String())
	}
	switch x := v.Any().(type) {
	case Verbatim:
		return quote(string(x))
	case error:
		return quote(redact(x.Error()))
	case []byte:
		return quote(redact(string(x)))
	case *time.Time:
		if x != nil {
			return quote(x.In(zone).Format(timeFormat))
		}
	case json.Marshaler, encoding.TextMarshaler:
	case fmt.Stringer:
		return quote(redact(x.String()))
	}
	raw, err := wire.Encode(v.Any())
	if err != nil {
		return quote(redact(fmt.Sprintf("%+v", v.Any())))
	}
	return json.RawMessage(redact(string(raw)))
}

// text returns a value as a plain string.
func text(v slog.Value) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprintf("panic while logging: %v", p)
		}
	}()
	return redact(resolve(v).String())
}

// resolve returns the value of a LogValuer. It recovers from one that panics.
func resolve(v slog.Value) (out slog.Value) {
	defer func() {
		if p := recover(); p != nil {
			out = slog.StringValue(fmt.Sprintf("panic while logging: %v", p))
		}
	}()
	return v.Resolve()
}

// number encodes a number; infinities and NaN, which JSON lacks, become strings.
func number(f float64) json.RawMessage {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return quote(fmt.Sprint(f))
	}
	raw, err := wire.Encode(f)
	if err != nil {
		return quote(fmt.Sprint(f))
	}
	return raw
}

func quote(s string) json.RawMessage {
	raw, err := wire.Encode(s)
	if err != nil { // impossible: every string has a JSON form
		return json.RawMessage(`""`)
	}
	return raw
}
