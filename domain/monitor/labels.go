package monitor

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Limits of labels.
const (
	MaxLabels     = 16
	maxLabelValue = 100 // characters
)

// Labels are short texts by which people sort streams, such as team: a (section 16.8). nil has none.
type Labels map[string]string

// labelName is what a label may be called. A filter writes NAME:VALUE, so a name has no colon.
var labelName = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,62}$`)

// Check returns an *Error InvalidConfig for each wrong label. field is what has them.
func (l Labels) Check(field string) (refused []error) {
	if len(l) > MaxLabels {
		refused = append(refused, FieldErrorf(field, "has %d labels; accepted are %d", len(l), MaxLabels))
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if !labelName.MatchString(name) {
			refused = append(refused, FieldErrorf(field, "has a label called %.70q; accepted are 1 to 63 of a–z, 0–9, _, . and -, a letter first", name))
			continue
		}
		if err := checkLabelValue(field+"."+name, l[name]); err != nil {
			refused = append(refused, err)
		}
	}
	return refused
}

func checkLabelValue(field, value string) error {
	if value != strings.TrimSpace(value) && strings.TrimSpace(value) != "" {
		return FieldErrorf(field, "begins or ends with a space; leave it out")
	}
	return CheckLine(field, value, 1, maxLabelValue)
}

// With returns the labels after a change: those that it names get its values, nil removes one.
func (l Labels) With(change map[string]*string) Labels {
	changed := maps.Clone(l)
	if changed == nil {
		changed = Labels{}
	}
	for name, value := range change {
		if value == nil {
			delete(changed, name)
		} else {
			changed[name] = *value
		}
	}
	return changed
}

// MarshalJSON implements json.Marshaler: no labels are {}.
func (l Labels) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte(`{}`), nil
	}
	return wire.Encode(map[string]string(l))
}
