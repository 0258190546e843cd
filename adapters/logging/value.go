package logging

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// timeForm is RFC 3339 with milliseconds and the zone's offset (section 11.2).
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// object is the data of a line: members in the order they came, each key once.
type object struct{ members []member }

// member is a value, or an object of its own.
type member struct {
	key   string
	value json.RawMessage // when inner is nil
	inner *object
}

// add puts an attribute into o. A group becomes an object of its own, or joins
// o when it has no name; an attribute without key or value is left out.
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

// group finds or makes the object under key.
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

// empty tells whether there is nothing to write: no member, or only empty groups.
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

// encode turns a value into JSON, whatever it is: durations are seconds, times
// RFC 3339 in zone, errors their text, secrets in URLs left out.
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
		return quote(v.Time().In(zone).Format(timeForm))
	case slog.KindFloat64:
		return number(v.Float64())
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return json.RawMessage(v.String())
	}
	switch x := v.Any().(type) {
	case error:
		return quote(redact(x.Error()))
	case []byte:
		return quote(redact(string(x)))
	case *time.Time:
		if x != nil {
			return quote(x.In(zone).Format(timeForm))
		}
	case json.Marshaler, encoding.TextMarshaler:
	case fmt.Stringer:
		return quote(redact(x.String()))
	}
	raw, err := marshal(v.Any())
	if err != nil {
		return quote(redact(fmt.Sprintf("%+v", v.Any())))
	}
	return json.RawMessage(redact(string(raw)))
}

// text is a value as a plain string.
func text(v slog.Value) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprintf("panic while logging: %v", p)
		}
	}()
	return redact(resolve(v).String())
}

// resolve asks a LogValuer for its value, and survives one that panics.
func resolve(v slog.Value) (out slog.Value) {
	defer func() {
		if p := recover(); p != nil {
			out = slog.StringValue(fmt.Sprintf("panic while logging: %v", p))
		}
	}()
	return v.Resolve()
}

// number is a JSON number; JSON has none for infinities and NaN.
func number(f float64) json.RawMessage {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return quote(fmt.Sprint(f))
	}
	raw, err := marshal(f)
	if err != nil {
		return quote(fmt.Sprint(f))
	}
	return raw
}

func quote(s string) json.RawMessage {
	raw, err := marshal(s)
	if err != nil { // cannot be: every string has a JSON form
		return json.RawMessage(`""`)
	}
	return raw
}

// marshal is json.Marshal without the escapes for HTML, which only hide what a
// URL says.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
