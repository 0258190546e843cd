package httpapi

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// textObjects are the fields that a column named FIELD.NAME gives one text.
var textObjects = []string{"labels", "metadata"}

// configColumns are the columns of config: its fields, and the path of each setting of an optional
// detector.
func configColumns() []string {
	columns := configFields()
	for _, d := range detector.Optional() {
		for _, s := range d.AllSettings() {
			columns = append(columns, s.Field)
		}
	}
	return columns
}

// maxColumns is the maximum of columns of a CSV file.
const maxColumns = 200

// readCSV returns the rows of a CSV file (RFC 4180) as registrations
// in JSON. The first row names the columns: those of the form, and
// textObjects. The cells of these, of detectors and of http_headers are JSON objects. A column detectors.NAME.FIELD has
// numbers, which switch the detector on; labels.NAME and metadata.NAME have texts. An empty cell is left out, and null is null. readCSV
// refuses a file that is no CSV, has an unknown or repeated column, more than maxColumns columns, or
// more than monitors.MaxBatch rows.
func readCSV(body []byte, form batchForm) ([]json.RawMessage, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	columns, err := r.Read()
	if err != nil {
		return nil, notCSV(err)
	}
	inConfig := map[string]bool{}
	for _, name := range form.config {
		inConfig[name] = true
	}
	if err := checkColumns(columns, form); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, notCSV(err)
		}
		if len(all) == monitors.MaxBatch {
			return nil, tooManyRegistrations(monitors.MaxBatch + 1)
		}
		all = append(all, registrationOf(columns, inConfig, row))
	}
}

// checkColumns refuses an unknown or repeated column, and more than maxColumns.
func checkColumns(columns []string, form batchForm) error {
	if len(columns) > maxColumns {
		return refusef(monitor.InvalidConfig, "the first row names %d columns; accepted are 1 to %d", len(columns), maxColumns)
	}
	seen := map[string]bool{}
	for i, name := range columns {
		switch {
		case slices.Contains(textObjects, name), slices.Contains(form.columns, name), slices.Contains(form.config, name):
		case isText(name):
		default:
			return refusef(monitor.InvalidConfig, "column %d is %.40q; accepted are %s, labels, labels.NAME, metadata, metadata.NAME, %s",
				i+1, name, strings.Join(form.columns, ", "), strings.Join(form.config, ", "))
		}
		if seen[name] {
			return refusef(monitor.InvalidConfig, "the column %.40q is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// registrationOf returns the registration of one row. A cell that is no number, where the
// field needs one, becomes a string: the registration is then refused with its text.
func registrationOf(columns []string, inConfig map[string]bool, row []string) json.RawMessage {
	registration, config, texts, settings := map[string]any{}, map[string]any{}, map[string]map[string]any{}, map[string]map[string]any{}
	for i, name := range columns {
		cell := row[i]
		switch {
		case cell == "":
		case isText(name):
			field, member, _ := strings.Cut(name, ".")
			addMember(texts, field, member, cell)
		case slices.Contains(textObjects, name) && json.Valid([]byte(cell)):
			registration[name] = json.RawMessage(cell)
		case (name == "detectors" || name == "http_headers" || name == "copy_query") && json.Valid([]byte(cell)):
			config[name] = json.RawMessage(cell)
		case inConfig[name] && strings.Contains(name, "."):
			_, path, _ := strings.Cut(name, ".")
			detector, field, _ := strings.Cut(path, ".")
			addMember(settings, detector, field, numberOrText(cell))
		case inConfig[name]:
			config[name] = numberOrText(cell)
		case cell == "null":
			registration[name] = nil
		default:
			registration[name] = cell
		}
	}
	if _, whole := config["detectors"]; !whole && len(settings) > 0 {
		config["detectors"] = settings
	}
	if len(config) > 0 {
		registration["config"] = config
	}
	for field, members := range texts {
		if _, whole := registration[field]; !whole {
			registration[field] = members
		}
	}
	raw, err := json.Marshal(registration)
	if err != nil {
		panic(err) // every value is a string or valid JSON
	}
	return raw
}

// numberOrText returns the value of a cell in JSON.
func numberOrText(cell string) any {
	if isNumber(json.RawMessage(cell)) && json.Valid([]byte(cell)) {
		return json.RawMessage(cell)
	}
	return cell
}

// isText reports whether a column is FIELD.NAME of one of textObjects.
func isText(column string) bool {
	field, name, _ := strings.Cut(column, ".")
	return name != "" && slices.Contains(textObjects, field)
}

// addMember adds a member to one of several objects.
func addMember(objects map[string]map[string]any, name, member string, value any) {
	if objects[name] == nil {
		objects[name] = map[string]any{}
	}
	objects[name][member] = value
}

func notCSV(err error) error {
	if errors.Is(err, io.EOF) {
		return refusef(monitor.InvalidConfig, "the body is empty; its first row names the columns")
	}
	return refusef(monitor.InvalidConfig, "the body is not valid CSV: %v", err)
}
