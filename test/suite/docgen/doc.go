// Package docgen keeps documents true. Its tests render docs/webhooks.md from real
// webhooks, and the table of docs/operations/notifications.md from the fields of destinations,
// and fail if a page differs; WRITE_DOCS=1 go test ./test/suite/docgen writes them.
package docgen
