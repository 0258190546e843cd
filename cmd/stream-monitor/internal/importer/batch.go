package importer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// batchSize is the most registrations that the API accepts in one batch.
const batchSize = 100

// Batch is the body of one request.
type Batch struct {
	List        string // monitors or channels
	ContentType string
	Body        []byte
	First, Size int // number of its first registration in the file, from 1; how many it has
}

// Rows names the registrations of a batch, as a message does.
func (b Batch) Rows() string {
	return fmt.Sprintf("registrations %d to %d", b.First, b.First+b.Size-1)
}

// Divide divides a file into batches. The file is JSON if it begins with [ or {: an array
// of registrations, or {"monitors": array} or {"channels": array}. Otherwise it is CSV whose first row names the
// columns. A registration of a channel has channel. charset is that of text; "": UTF-8, or what a byte order mark
// says. Errors: the file is neither, or it has no registration.
func Divide(file []byte, charset Charset) ([]Batch, error) {
	file, err := decode(file, charset)
	if err != nil {
		return nil, err
	}
	trimmed := bytes.TrimLeft(file, " \t\r\n")
	if len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') {
		return divideJSON(trimmed)
	}
	return divideCSV(file)
}

func divideJSON(file []byte) ([]Batch, error) {
	var registrations []json.RawMessage
	var err error
	list := monitorsList
	if file[0] == '[' {
		if err = json.Unmarshal(file, &registrations); err == nil && len(registrations) > 0 {
			list = listOf(registrations[0])
		}
	} else {
		var whole struct {
			Monitors *[]json.RawMessage `json:"monitors"`
			Channels *[]json.RawMessage `json:"channels"`
		}
		switch err = json.Unmarshal(file, &whole); {
		case err != nil:
		case whole.Monitors != nil && whole.Channels == nil:
			registrations = *whole.Monitors
		case whole.Channels != nil && whole.Monitors == nil:
			registrations, list = *whole.Channels, channelsList
		default:
			err = errors.New("the object has no monitors and no channels, or both")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the file is not a list of registrations (%w); accepted are a JSON array, {\"monitors\": array}, {\"channels\": array}, and CSV", err)
	}
	return divide(list, registrations, "application/json", func(some []json.RawMessage) ([]byte, error) {
		return json.Marshal(map[string]any{list: some})
	})
}

// The lists of registrations.
const (
	monitorsList = "monitors"
	channelsList = "channels"
)

// listOf returns the list that a registration belongs to.
func listOf(registration json.RawMessage) string {
	var of struct {
		Channel json.RawMessage `json:"channel"`
	}
	if json.Unmarshal(registration, &of) == nil && of.Channel != nil {
		return channelsList
	}
	return monitorsList
}

func divideCSV(file []byte) ([]Batch, error) {
	r := csv.NewReader(bytes.NewReader(file))
	r.Comma = separatorOf(file)
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the file is not valid CSV: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("the file is empty; the first row of CSV names the columns: stream_url,callback_url,… or channel,callback_url,…")
	}
	list := monitorsList
	if slices.Contains(rows[0], "channel") {
		list = channelsList
	}
	return divide(list, rows[1:], "text/csv", func(some [][]string) ([]byte, error) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		err := w.WriteAll(append([][]string{rows[0]}, some...))
		return b.Bytes(), err
	})
}

// separatorOf returns what separates the cells of CSV: the first comma, semicolon or tab of the first row, because no column
// has one in its name. Spreadsheets write the semicolon where the comma is the decimal separator, and tabs as "Unicode text".
func separatorOf(file []byte) rune {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	if at := bytes.IndexAny(first, ",;\t"); at >= 0 {
		return rune(first[at])
	}
	return ','
}

// divide makes batches of at most batchSize registrations, each encoded on its own.
func divide[R any](list string, registrations []R, contentType string, encode func([]R) ([]byte, error)) ([]Batch, error) {
	if len(registrations) == 0 {
		return nil, errors.New("the file has no registration")
	}
	var batches []Batch
	first := 1
	for some := range slices.Chunk(registrations, batchSize) {
		body, err := encode(some)
		if err != nil {
			return nil, err
		}
		batches = append(batches, Batch{list, contentType, body, first, len(some)})
		first += len(some)
	}
	return batches, nil
}
