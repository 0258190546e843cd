package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// apiDocument is the parsed openapi.yaml.
type apiDocument struct{ doc *openapi3.T }

var loaded = sync.OnceValues(func() (*openapi3.T, error) {
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562))
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.Document())
	if err != nil {
		return nil, err
	}
	// Validate also checks every example against its schema.
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
})

func document(t testing.TB) apiDocument {
	t.Helper()
	doc, err := loaded()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return apiDocument{doc}
}

// find returns the operation that describes a request, or nil. A path without
// parameters precedes one with them (OpenAPI 3.0, Paths Object).
func (c apiDocument) find(method, path string) (template string, op *openapi3.Operation) {
	if item := c.doc.Paths.Find(path); item != nil {
		return path, item.GetOperation(method)
	}
	parts := strings.Split(path, "/")
	for template, item := range c.doc.Paths.Map() {
		want := strings.Split(template, "/")
		if slices.EqualFunc(want, parts, func(w, p string) bool { return w == p || (strings.HasPrefix(w, "{") && p != "") }) {
			return template, item.GetOperation(method)
		}
	}
	return "", nil
}

// validate fails the test unless the document describes the status, the headers and
// the body of a response.
func (c apiDocument) validate(t testing.TB, r *http.Request, a response) {
	t.Helper()
	template, op := c.find(r.Method, r.URL.Path)
	everywhere := bytes.Contains(a.body, []byte(`"code":"CROSS_ORIGIN"`)) || bytes.Contains(a.body, []byte(`"code":"FORBIDDEN"`))
	if op == nil || everywhere { // the introduction describes it for all
		if a.status < 400 {
			t.Errorf("%s %s is not described and answers %d", r.Method, r.URL.Path, a.status)
		}
		var body any = a.json()
		if err := c.doc.Components.Schemas["Error"].Value.VisitJSON(body); err != nil {
			t.Errorf("%s %s answers %d without the envelope: %v", r.Method, r.URL.Path, a.status, err)
		}
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: c.doc, Path: template, PathItem: c.doc.Paths.Find(template), Method: r.Method, Operation: op},
		},
		Status:  a.status,
		Header:  a.header,
		Body:    io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableFormatValidation()}},
	}
	switch a.header.Get("Content-Type") {
	case "application/yaml", "text/event-stream", "application/x-ndjson":
		input.Options.ExcludeResponseBody = true // this document, and streams
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		t.Errorf("%s %s: the answer %d is not as described: %v\n%s", r.Method, r.URL.Path, a.status, err, a.body)
	}
}

// TestTheDocumentDescribesExactlyTheRoutes compares it with the table of routes: the paths and
// methods, who may ask, and which requests are limited. It leaves out the pages, which are no API.
func TestTheDocumentDescribesExactlyTheRoutes(t *testing.T) {
	dashboard := must.Get(dashboardOnce())(t)
	pages := slices.Concat(ui.Pages, dashboard.Files(), []string{ui.AssetPath})
	doc := document(t).doc
	described := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			described[method+" "+path] = op
		}
	}
	for _, r := range newTestAPI(t).handlers.Routes() {
		if slices.Contains(pages, r.Path) {
			continue
		}
		parts := strings.Split(r.Path, "/")
		for i, p := range parts {
			if strings.HasPrefix(p, ":") {
				parts[i] = "{" + p[1:] + "}"
			}
		}
		name := r.Method + " " + strings.Join(parts, "/")
		op := described[name]
		if op == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		delete(described, name)
		security := doc.Security
		if op.Security != nil {
			security = *op.Security
		}
		var needs []string
		for _, s := range security {
			needs = slices.AppendSeq(needs, maps.Keys(s))
		}
		slices.Sort(needs)
		wanted := map[bool]string{true: "apiKey,session", false: ""}[r.Right > 0]
		switch {
		case r.Internal:
			wanted = "internalApiKey"
		case name == "GET /api/v1/session": // it answers for the session alone, and checks it itself
			wanted = "session"
		}
		if got := strings.Join(needs, ","); got != wanted {
			t.Errorf("%s is described as needing %q, and needs %q", name, got, wanted)
		}
		if r.Rate != "" && op.Responses.Value("429") == nil {
			t.Errorf("%s counts as %q and is described without 429", name, r.Rate)
		}
	}
	for name := range described {
		t.Errorf("%s is described and has no route", name)
	}
}

// TestEveryDescribedRefusalHasItsCodes finds responses that would be described whatever code they have.
func TestEveryDescribedRefusalHasItsCodes(t *testing.T) {
	for path, item := range document(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				json := response.Value.Content["application/json"]
				if status < "400" || json == nil && response.Value.Content["text/html"] != nil { // a page says it in words
					continue
				}
				if json == nil || len(json.Schema.Value.AllOf) != 2 || json.Schema.Value.AllOf[0].Ref != "#/components/schemas/Error" ||
					len(json.Schema.Value.AllOf[1].Value.Properties["error"].Value.Properties["code"].Value.Enum) == 0 {
					t.Errorf("%s %s: %s gives no codes", method, path, status)
				}
			}
		}
	}
}

func TestTheDocumentIsServed(t *testing.T) {
	a := newTestAPI(t).do(newRequestWithoutKey("/openapi.yaml")).hasStatus(http.StatusOK)
	if !bytes.Equal(a.body, httpapi.Document()) || !bytes.HasPrefix(a.body, []byte("openapi: 3.")) {
		t.Error("another document is served")
	}
}

// TestEveryDescribedResponseOccurs causes each response and each code that the document describes. do
// validates them against the document, which says which code has which status.
func TestEveryDescribedResponseOccurs(t *testing.T) {
	responses, codes, bodies := map[string]bool{}, map[string]bool{}, readBodies(t)
	for _, c := range responseCases() {
		t.Run(c.name, func(t *testing.T) {
			api := newTestAPI(t)
			r := c.request(api)
			a := api.do(r).hasStatus(c.status)
			template, _ := document(t).find(r.Method, r.URL.Path)
			responses[r.Method+" "+template+" "+strconv.Itoa(c.status)] = true
			if a.header.Get("Content-Type") != "application/json" {
				return
			}
			if a.status < 400 {
				bodies.check(t, c.name, a.body)
				return
			}
			codes[a.json()["error"].(map[string]any)["code"].(string)] = true
			if again := a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable; again != (a.header.Get("Retry-After") != "") {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
			if bytes.Contains(a.body, []byte("exploded")) || bytes.Contains(a.body, []byte("sql")) {
				t.Error("the response shows an internal detail")
			}
		})
	}
	for _, r := range refusals() {
		path, _, _ := strings.Cut(r.path, "?")
		template, _ := document(t).find(r.method, path)
		responses[r.method+" "+template+" 400"], codes[string(r.code)] = true, true
	}
	for path, item := range document(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if !responses[method+" "+path+" "+status] {
					t.Errorf("no test causes %s %s %s", method, path, status)
				}
			}
		}
	}
	bodies.write(t)
	for _, code := range document(t).doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum {
		if !codes[code.(string)] {
			t.Errorf("no test causes %s", code)
		}
	}
}

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
