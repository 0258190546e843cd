package channel

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
)

// File is a file of a form.
type File struct {
	Field, Name string
	Size        int
}

// ReadForm reads the fields and the files of a form, or the members of a JSON object: strings as
// they are, others as JSON. Error: it is neither.
func ReadForm(r *http.Request) (fields map[string]string, files []File, err error) {
	fields = map[string]string{}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, nil, err
	}
	if kind == "application/json" {
		var values map[string]json.RawMessage
		err := json.NewDecoder(r.Body).Decode(&values)
		for name, raw := range values {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			fields[name] = text
		}
		return fields, nil, err
	}
	for form := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, files, nil
		}
		if err != nil {
			return nil, nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, nil, err
		}
		if part.FileName() == "" {
			fields[part.FormName()] = string(data)
		} else {
			files = append(files, File{part.FormName(), part.FileName(), len(data)})
		}
	}
}
