// Package sourcetest changes the table of sources for one test, to show what follows from a
// further row.
package sourcetest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Imaginary is a made-up source. No product source may have its name.
var Imaginary = monitor.Source{
	Name:     "imaginary",
	Title:    "Imaginary",
	Hosts:    []string{"live.example.com"},
	Accepted: "https://live.example.com/CHANNEL",
	Prefix:   "https://live.example.com/",
	ID: func(u *url.URL) (id, why string) {
		if id = strings.Trim(u.Path, "/"); id == "" {
			return "", "names no channel"
		}
		return id, ""
	},
	SecretQuery: func(u *url.URL) string {
		if u.RawQuery == "" {
			return ""
		}
		return "?" + u.RawQuery
	},
	TakesHeaders: true,

	Example:     Stream,
	Lifetime:    time.Hour,
	SecretHosts: []string{"media.example"},
	SecretPaths: regexp.MustCompile(`/signed/[^\s"'<>]*`),
}

// Stream is one of the made-up source.
const Stream = monitor.StreamURL("https://live.example.com/news")

// Add adds a row until the test ends. Such a test does not run in parallel with others.
func Add(t interface{ Cleanup(end func()) }, s monitor.Source) {
	before := monitor.Sources
	t.Cleanup(func() { monitor.Sources = before })
	monitor.Sources = append(slices.Clone(before), s)
}
