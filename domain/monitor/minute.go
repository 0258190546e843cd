package monitor

import (
	"errors"
	"fmt"
	"time"
)

// Minute has what one worker measured of a stream in one minute of its clock. Two
// workers may measure parts of the same minute; Since tells them apart.
type Minute struct {
	At    time.Time `json:"at"`             // the beginning of the minute
	Since time.Time `json:"since"`          // of this worker's first measurement in it
	Luma  Range     `json:"luma,omitzero"`  // 0 (black) to 255 (white)
	Level Range     `json:"level,omitzero"` // dBFS, −120 (or digital silence) to 0
}

// Range has the lowest, mean and highest of N measurements, about one a second. The
// zero value has none.
type Range struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	N    int     `json:"n"`
}

// Add adds a measurement.
func (r Range) Add(v float64) Range { return r.Merge(Range{Min: v, Mean: v, Max: v, N: 1}) }

// Merge returns the range of both measurements.
func (r Range) Merge(o Range) Range {
	switch {
	case o.N == 0:
		return r
	case r.N == 0:
		return o
	}
	n := r.N + o.N
	return Range{
		Min:  min(r.Min, o.Min),
		Mean: (r.Mean*float64(r.N) + o.Mean*float64(o.N)) / float64(n),
		Max:  max(r.Max, o.Max),
		N:    n,
	}
}

// Valid checks the ranges of a minute. Its error names the first wrong field.
func (m Minute) Valid() error {
	if err := errors.Join(ValidTime("at", m.At), ValidTime("since", m.Since)); err != nil {
		return err
	}
	if !m.At.Equal(m.At.Truncate(time.Minute)) {
		return fmt.Errorf("at is %v; accepted is the beginning of a minute", m.At)
	}
	if err := m.Luma.valid("luma", 0, 255); err != nil {
		return err
	}
	return m.Level.valid("level", -120, 0)
}

// maxMeasurements limits N of a Range: a minute measured at every frame.
const maxMeasurements = 60 * 60

func (r Range) valid(name string, low, high float64) error {
	const rounding = 1e-6 // of a mean
	switch {
	case r == Range{}:
		return nil
	case r.N < 1 || r.N > maxMeasurements:
		return fmt.Errorf("%s.n is %d; accepted is 1 to %d", name, r.N, maxMeasurements)
	case !(low <= r.Min && r.Min <= r.Mean+rounding && r.Mean <= r.Max+rounding && r.Max <= high):
		return fmt.Errorf("%s is %v, %v, %v; accepted is min, mean and max in order, from %v to %v", name, r.Min, r.Mean, r.Max, low, high)
	}
	return nil
}
