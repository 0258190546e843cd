package outbound

import (
	"bytes"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// FormPart is a field of a form: a text, JSON, or a file.
type FormPart struct {
	Name        string
	Text        string
	JSON        any    // nil: there is none
	FileName    string // empty: it is no file
	ContentType string // of the file
	Bytes       []byte // of the file
}

// NewForm returns the body of a form (multipart/form-data), with its Content-Type.
func NewForm(parts []FormPart) (body []byte, contentType string, err error) {
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	for _, p := range parts {
		header := textproto.MIMEHeader{}
		disposition := map[string]string{"name": p.Name}
		content := []byte(p.Text)
		switch {
		case p.JSON != nil:
			encoded, err := wire.Encode(p.JSON)
			if err != nil {
				return nil, "", err
			}
			content = encoded
			header.Set("Content-Type", "application/json")
		case p.FileName != "":
			content = p.Bytes
			disposition["filename"] = p.FileName
			header.Set("Content-Type", p.ContentType)
		}
		header.Set("Content-Disposition", mime.FormatMediaType("form-data", disposition))
		w, err := form.CreatePart(header)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return nil, "", fmt.Errorf("encode the form: %w", err)
		}
	}
	if err := form.Close(); err != nil {
		return nil, "", fmt.Errorf("encode the form: %w", err)
	}
	return out.Bytes(), form.FormDataContentType(), nil
}
