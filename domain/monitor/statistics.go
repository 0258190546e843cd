package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Statistics counts over the life of a monitor (section 3.3); the counts never
// decrease. Statistics can be compared with ==.
type Statistics struct {
	TotalSegmentsAnalyzed int

	alerts [detector.MaxDetectors]int // of each row of the table
}

const totalSegments = "total_segments_analyzed"

// Alerts returns the number of alerts of a detector that were sent.
func (s Statistics) Alerts(name detector.Name) int { return s.alerts[detector.Index(name)] }

// With is a copy that counts n alerts of a detector.
func (s Statistics) With(name detector.Name, n int) Statistics {
	s.alerts[detector.Index(name)] = n
	return s
}

// Count counts one more alert of a detector.
func (s *Statistics) Count(name detector.Name) { s.alerts[detector.Index(name)]++ }

// Max is the larger of each two counts.
func (s Statistics) Max(o Statistics) Statistics {
	s.TotalSegmentsAnalyzed = max(s.TotalSegmentsAnalyzed, o.TotalSegmentsAnalyzed)
	for i := range s.alerts {
		s.alerts[i] = max(s.alerts[i], o.alerts[i])
	}
	return s
}

// Fields lists each count with its JSON field, in the order of section 3.3.
func (s Statistics) Fields() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if !yield(totalSegments, s.TotalSegmentsAnalyzed) {
			return
		}
		for i, d := range detector.Table {
			if !yield(d.Statistic, s.alerts[i]) {
				return
			}
		}
	}
}

// MarshalJSON writes the object of section 3.3. It leaves out an optional detector that has sent no
// alert: most monitors have it off.
func (s Statistics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for field, n := range s.Fields() {
		if n == 0 && slices.ContainsFunc(detector.Table, func(d detector.Detector) bool { return d.Optional && d.Statistic == field }) {
			continue
		}
		separator := byte(',')
		if b.Len() == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		fmt.Fprintf(&b, "%q:%d", field, n)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object of section 3.3. A count that is left out is 0;
// unknown fields are ignored.
func (s *Statistics) UnmarshalJSON(b []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	read := func(field string, into *int) error {
		*into = 0
		raw, is := given[field]
		if !is {
			return nil
		}
		err := json.Unmarshal(raw, into)
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			wrong.Field = field
		}
		return err
	}
	if err := read(totalSegments, &s.TotalSegmentsAnalyzed); err != nil {
		return err
	}
	for i, d := range detector.Table {
		if err := read(d.Statistic, &s.alerts[i]); err != nil {
			return err
		}
	}
	return nil
}
