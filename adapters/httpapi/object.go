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

// object is a JSON object read strictly: names are case-sensitive, come once,
// and are all known; values have exactly the type asked for (decision A3).
type object struct {
	path   string // of its fields, in messages: "" or "config."
	fields map[string]json.RawMessage
}

// readObject reads the one object that raw is. known lists the fields there may
// be.
func readObject(raw []byte, name string, known ...string) (object, error) {
	o := object{fields: map[string]json.RawMessage{}}
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
		field, _ := key.(string) // the decoder lets nothing else stand here
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return o, notJSON(err)
		}
		if !slices.Contains(known, field) {
			return o, refusef(monitor.InvalidConfig, "%s%.40s is not a field; accepted are %s", o.path, strconv.QuoteToASCII(field), strings.Join(known, ", "))
		}
		if _, twice := o.fields[field]; twice {
			return o, refusef(monitor.InvalidConfig, "%s%s is given twice", o.path, field)
		}
		o.fields[field] = value
	}
	if _, err := dec.Token(); err != nil {
		return o, notJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return o, refusef(monitor.InvalidConfig, "there is something after the end of %s", name)
	}
	return o, nil
}

func (o object) refuse(name, accepted string) error {
	return refusef(monitor.InvalidConfig, "%s%s is %.40s; accepted is %s", o.path, name, o.fields[name], accepted)
}

// text reads a string; null and no field at all read as "".
func (o object) text(name string, into *string) error {
	raw, given := o.fields[name]
	if !given || string(raw) == "null" {
		return nil
	}
	if raw[0] != '"' || json.Unmarshal(raw, into) != nil {
		return o.refuse(name, "a string")
	}
	return nil
}

// number reads a setting, however the number is written. given is false if the
// object does not have it.
func (o object) number(s monitor.Setting) (v float64, given bool, err error) {
	raw, given := o.fields[s.Field]
	if !given {
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(string(raw), 64)
	if !isNumber(raw) || err != nil || s.Whole && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
		kind := "a number"
		if s.Whole {
			kind = "a whole number"
		}
		return 0, true, o.refuse(s.Field, kind+", "+s.Range())
	}
	return v, true, nil
}

func isNumber(raw json.RawMessage) bool {
	return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9')
}

// momentForm is the spellings of ISO 8601 accepted: RFC 3339, and its common
// variants without seconds or without the colon in the offset. Each has an
// offset, because a time without one means a different instant to everybody.
// time.Parse alone would take one-digit hours, commas and offsets of a day.
var momentForm = regexp.MustCompile(`^([0-9-]{10}T[0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]+)?)?(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])$`)

// moment reads a time in UTC, to the millisecond (decision A11); null reads as
// none.
func (o object) moment(name string, into **time.Time) error {
	raw, given := o.fields[name]
	if !given || string(raw) == "null" {
		return nil
	}
	const accepted = "null or an ISO 8601 time with an offset, such as 2024-01-15T20:00:00+09:00"
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return o.refuse(name, accepted)
	}
	parts := momentForm.FindStringSubmatch(strings.ToUpper(s))
	if parts == nil {
		return o.refuse(name, accepted)
	}
	minute, seconds, offset := parts[1], parts[2], parts[3]
	if seconds == "" {
		seconds = ":00"
	}
	if len(offset) == len("+0900") {
		offset = offset[:3] + ":" + offset[3:]
	}
	t, err := time.Parse(time.RFC3339, minute+seconds+offset)
	if err != nil {
		return o.refuse(name, accepted)
	}
	t = t.UTC().Truncate(time.Millisecond)
	*into = &t
	return nil
}
