package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// object is a strictly parsed JSON object (decision A3). Names are known,
// case-sensitive and unique; values have exactly the expected type. It collects the
// errors of its fields.
type object struct {
	path    string // prefix of its fields in messages: "" or "config."
	fields  map[string]json.RawMessage
	refused []error // *monitor.Error with a Field, of nested objects too
	outer   *object // the one that this is nested in, or nil
}

// readObject reads raw, one JSON object. It refuses fields that are not known, and
// repeated ones, in the object's refused. Errors: raw is not one JSON object.
func readObject(raw []byte, name string, known ...string) (*object, error) {
	o := &object{fields: map[string]json.RawMessage{}}
	if name != "" {
		o.path = name + "."
	} else {
		name = "the body"
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return o, notJSON(err)
	}
	if open != json.Delim('{') {
		return o, refusef(monitor.InvalidConfig, "%s is not a JSON object", name)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return o, notJSON(err)
		}
		field, _ := key.(string) // the decoder accepts nothing else here
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return o, notJSON(err)
		}
		if !slices.Contains(known, field) {
			o.refusef(field, "%s%.40s is not a field; accepted are %s", o.path, strconv.QuoteToASCII(field), strings.Join(known, ", "))
			continue
		}
		if _, twice := o.fields[field]; twice {
			o.refusef(field, "%s%s is given twice", o.path, field)
			continue
		}
		o.fields[field] = value
	}
	if _, err := dec.Token(); err != nil {
		return o, notJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return o, refusef(monitor.InvalidConfig, "there are more data after the end of %s", name)
	}
	return o, nil
}

// refusef adds the error of a field.
func (o *object) refusef(field, format string, args ...any) {
	err := monitor.OfField(o.path+field, monitor.Errorf(monitor.InvalidConfig, format, args...))
	for ; o != nil; o = o.outer {
		o.refused = append(o.refused, err)
	}
}

// refuse adds the error of a field of the wrong type.
func (o *object) refuse(field, accepted string) {
	o.refusef(field, "%s%s is %.40s; accepted is %s", o.path, field, o.fields[field], accepted)
}

// refuses reports whether a field has an error.
func (o *object) refuses(field string) bool {
	return slices.ContainsFunc(o.refused, func(err error) bool { return monitor.FieldOf(err) == o.path+field })
}

// err returns one error that names every wrong field, or nil.
func (o *object) err() error { return monitor.Join(o.refused...) }

// text reads a string. It returns "" for null and for a missing field.
func (o *object) text(name string, into *string) {
	raw, given := o.fields[name]
	if !given || string(raw) == "null" {
		return
	}
	if raw[0] != '"' || json.Unmarshal(raw, into) != nil {
		o.refuse(name, "a string")
	}
}

// number reads a setting in any notation of JSON. ok is false if the field is missing
// or wrong.
func (o *object) number(s monitor.Setting) (v float64, ok bool) {
	raw, given := o.fields[s.Field]
	if !given {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if !isNumber(raw) || err != nil || s.Whole && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
		kind := "a number"
		if s.Whole {
			kind = "a whole number"
		}
		o.refuse(s.Field, kind+", "+s.Range())
		return 0, false
	}
	return v, true
}

func isNumber(raw json.RawMessage) bool {
	return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9')
}

// timestampForm matches the accepted spellings of ISO 8601: RFC 3339, and its
// common variants without seconds or without the colon in the offset. The offset
// is required: without one, a time is a different instant in every zone.
// time.Parse alone would accept one-digit hours, commas and offsets of a day.
var timestampForm = regexp.MustCompile(`^([0-9-]{10}T[0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]+)?)?(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])$`)

// timestamp reads a time in UTC, to the millisecond (decision A11). It returns none for
// null.
func (o *object) timestamp(name string, into **time.Time) {
	raw, given := o.fields[name]
	if !given || string(raw) == "null" {
		return
	}
	t, ok := parseTimestamp(raw)
	if !ok {
		o.refuse(name, "null or an ISO 8601 time with an offset, such as 2024-01-15T20:00:00+09:00")
		return
	}
	*into = &t
}

func parseTimestamp(raw json.RawMessage) (t time.Time, ok bool) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return t, false
	}
	parts := timestampForm.FindStringSubmatch(strings.ToUpper(s))
	if parts == nil {
		return t, false
	}
	minute, seconds, offset := parts[1], parts[2], parts[3]
	if seconds == "" {
		seconds = ":00"
	}
	if len(offset) == len("+0900") {
		offset = offset[:3] + ":" + offset[3:]
	}
	t, err := time.Parse(time.RFC3339, minute+seconds+offset)
	return t.UTC().Truncate(time.Millisecond), err == nil
}
