package httpapi

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// value reads a field into a new T. It returns nil for a missing field, and for null, which
// it refuses.
func value[T any](o *object, name, accepted string) *T {
	raw, given := o.fields[name]
	if !given {
		return nil
	}
	into := new(T)
	if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
		o.refuse(name, accepted)
		return nil
	}
	return into
}

// string reads a string.
func (o *object) string(name string) *string { return value[string](o, name, "a string") }

// stringOrNull reads a string. null is "".
func (o *object) stringOrNull(name string) *string {
	if string(o.fields[name]) == "null" {
		return new("")
	}
	return value[string](o, name, "a string or null")
}

// callback reads callback_url. null is "": routes alone tell somebody. An empty text is refused, as nobody has said null.
func (o *object) callback() *string {
	if string(o.fields["callback_url"]) == `""` {
		o.refuse("callback_url", "a URL, or null if routes alone tell somebody")
		return nil
	}
	return o.stringOrNull("callback_url")
}

// secret reads a string. Its refusal does not show the given value.
func (o *object) secret(name string) *string {
	raw, given := o.fields[name]
	if !given {
		return nil
	}
	into := new(string)
	if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
		o.refusef(name, "%s%s is no string", o.path, name)
	}
	return into
}

// flag reads a boolean.
func (o *object) flag(name string) *bool { return value[bool](o, name, "true or false") }

// values reads an object of strings; null removes one. Its refusal does not show the given
// value, which may have a secret.
func (o *object) values(name string) map[string]*string {
	raw, given := o.fields[name]
	if !given {
		return nil
	}
	var values map[string]*string
	if string(raw) == "null" || json.Unmarshal(raw, &values) != nil {
		o.refusef(name, "%s%s is no object whose values are strings or null", o.path, name)
	}
	return values
}

// seconds reads whole seconds. Their range is checked where they are used.
func (o *object) seconds(name string) *int64 {
	sec, ok := o.number(monitor.Setting{Field: name, Whole: true, Min: 0, Max: (24 * time.Hour).Seconds()})
	if !ok {
		return nil
	}
	return new(int64(sec))
}

// timeOrNull reads a time. null is the zero time.
func (o *object) timeOrNull(name string) *time.Time {
	raw, given := o.fields[name]
	if !given {
		return nil
	}
	var at *time.Time
	if o.timestamp(name, &at); at == nil {
		if string(raw) == "null" {
			return new(time.Time)
		}
		return nil
	}
	return at
}

// object reads a nested object with known fields. Its errors are errors of o too, and of those that o
// is nested in. It returns nil for a missing field, for null, and for what is no object, which it
// refuses.
func (o *object) object(name string, known ...string) *object {
	raw, given := o.fields[name]
	if !given || string(raw) == "null" {
		return nil
	}
	inner, err := readObject(raw, o.path+name, known...)
	if err != nil {
		o.refuse(name, "an object")
		return nil
	}
	inner.outer = o
	for ; o != nil; o = o.outer {
		o.refused = append(o.refused, inner.refused...)
	}
	return inner
}

// objects reads an array of objects with known fields, one after the other, as object does. It reports whether the field is an array:
// anything else it refuses.
func (o *object) objects(name string, read func(*object), known ...string) (given bool) {
	list := value[[]json.RawMessage](o, name, "an array of objects")
	if list == nil {
		return false
	}
	for n, raw := range *list {
		field := fmt.Sprintf("%s[%d]", name, n)
		o.fields[field] = raw
		if inner := o.object(field, known...); inner != nil {
			read(inner)
		} else if string(raw) == "null" {
			o.refuse(field, "an object")
		}
	}
	return true
}

// missing refuses a request without these fields.
func (o *object) missing(names ...string) {
	for _, name := range names {
		if _, given := o.fields[name]; !given && !o.refuses(name) {
			o.refusef(name, "%s%s is missing", o.path, name)
		}
	}
}
