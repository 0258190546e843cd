package ui

import (
	"io"
	"net/http"
)

// notBuiltPage is what a binary without pages shows. It has no style: the policy allows
// only files.
const notBuiltPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>stream-monitor: the dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>stream-monitor runs, and so does its API. This binary was made without the dashboard.</p>
<p>To build it, install Node.js 20 or newer, then run <code>make build</code> in the repository and start the new binary.
The image contains the dashboard.</p>
<p><a href="/openapi.yaml">The description of the API</a></p>
</html>
`

// notBuilt answers a page that the binary does not contain.
func notBuilt(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotImplemented)
	_, _ = io.WriteString(w, notBuiltPage)
}
