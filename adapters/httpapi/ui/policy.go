package ui

import "strings"

// contentSecurityPolicy allows the dashboard's own files and nothing else. Scripts and
// styles are files, so a text that became markup could neither run nor disguise itself.
// The one policy of trusted types is for the URL of the SharedWorker of the feed.
func contentSecurityPolicy(mediaOrigin string) string {
	self := strings.TrimSpace("'self' " + mediaOrigin)
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"connect-src 'self'",
		"worker-src 'self'",
		"manifest-src 'self'",
		"font-src 'self'",
		"img-src " + self + " blob:",
		"media-src " + self,
		"base-uri 'none'",
		"form-action 'self'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types feed",
	}, "; ")
}
