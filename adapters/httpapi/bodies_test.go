package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

const bodiesFile = "testdata/bodies.json"

// bodies are the JSON of successful responses, by the name of their cases.
type bodies struct{ want, got map[string]json.RawMessage }

func readBodies(t *testing.T) bodies {
	t.Helper()
	b := bodies{got: map[string]json.RawMessage{}}
	raw, err := os.ReadFile(bodiesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &b.want); err != nil {
		t.Fatal(err)
	}
	return b
}

// check compares a body with the file, whatever its white space.
func (b bodies) check(t *testing.T, name string, body []byte) {
	t.Helper()
	b.got[name] = body
	var got, want bytes.Buffer
	if err := json.Indent(&got, bytes.TrimSpace(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&want, b.want[name], "", "  "); os.Getenv("WRITE_DOCS") == "" && (err != nil || got.String() != want.String()) {
		t.Errorf("the body is\n%s\nwant that of %s\n%s", &got, bodiesFile, &want)
	}
}

// write writes the file anew: WRITE_DOCS=1 go test ./adapters/httpapi -run EveryDescribedResponse.
func (b bodies) write(t *testing.T) {
	t.Helper()
	if os.Getenv("WRITE_DOCS") == "" {
		return
	}
	var all bytes.Buffer
	e := json.NewEncoder(&all)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(b.got); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bodiesFile, all.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
