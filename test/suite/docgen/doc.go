// Package manual writes the parts of docs/ that must be true: its test renders
// them from what the program really sends, and fails when what is in docs/ is
// something else. WRITE_DOCS=1 go test ./test/suite/docgen writes them anew. The log
// lines that docs/operations.md explains are written by hand, and held against
// the code.
package docgen
