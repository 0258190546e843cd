// Package ui serves the dashboard, a page app that the build embeds in the binary.
//
//	src/ ── npm run build ──▶ dist/ ── go build ──▶ binary
//
// "make ui" builds dist, and "make build" calls it where Node.js is installed. The
// repository contains only dist/.gitkeep, so "go build" always works; a binary
// without dist answers every page with one that says how to build it.
//
// Guarantees:
//   - Only the listed pages and the files of dist have a path; folders are never listed.
//   - A page loads nothing from another host and runs no script of its own text: the
//     Content-Security-Policy refuses both.
//   - Files in assets have their digest in their name and are cached for a year. Every
//     other file is checked against its ETag each time.
package ui
