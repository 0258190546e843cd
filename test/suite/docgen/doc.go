// Package docgen keeps documents true. Its tests render docs/webhooks.md from real
// webhooks and fail if the page differs; WRITE_DOCS=1 go test ./test/suite/docgen
// writes it.
package docgen
