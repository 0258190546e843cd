package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const bodiesFile = "testdata/bodies.json"

// bodies are the JSON of successful responses, by the name of their cases.
type bodies struct{ want, got map[string]json.RawMessage }

func readBodies(t *testing.T) bodies {
	t.Helper()
	b := bodies{got: map[string]json.RawMessage{}}
	raw := must.Get(os.ReadFile(bodiesFile))(t)
	must.Do(t, json.Unmarshal(raw, &b.want))
	return b
}

// check compares a body with the file, whatever its white space.
func (b bodies) check(t *testing.T, name string, body []byte) {
	t.Helper()
	b.got[name] = body
	var got, want bytes.Buffer
	must.Do(t, json.Indent(&got, bytes.TrimSpace(body), "", "  "))
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
	must.Do(t, e.Encode(b.got))
	must.Do(t, os.WriteFile(bodiesFile, all.Bytes(), 0o644))
}
