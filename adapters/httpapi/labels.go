package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// readLabels reads the labels that a registration or a change gives; a nil value is null. nil: they are left out.
func readLabels(o *object) map[string]*string {
	labels := o.values("labels")
	if labels == nil {
		return nil
	}
	o.object("labels", slices.Collect(maps.Keys(labels))...) // refuses those that are there twice
	return labels
}

// labelParameter filters lists and statistics by NAME:VALUE. It may be repeated: all of the labels must be there.
const labelParameter = "label"

// readLabelFilter reads labelParameter.
func readLabelFilter(query url.Values) (monitor.Labels, error) {
	wanted := monitor.Labels{}
	for _, given := range query[labelParameter] {
		name, value, _ := strings.Cut(given, ":")
		switch _, twice := wanted[name]; {
		case value == "":
			return nil, refusef(monitor.InvalidConfig, "label is %.60q; accepted is NAME:VALUE, such as team:a", given)
		case twice:
			return nil, refusef(monitor.InvalidConfig, "label names %.60q twice, and a monitor has one value of it; ask for each of them alone", name)
		}
		wanted[name] = value
	}
	return wanted, monitor.Join(wanted.Check(labelParameter)...)
}
