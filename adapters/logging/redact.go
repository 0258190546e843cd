package logging

import (
	"regexp"
	"strings"
)

// urlForm finds URLs in running text and in JSON, where & may be \u0026.
var urlForm = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s"'<>\\` + "`" + `]|\\u[0-9a-fA-F]{4})+`)

const hidden = "…"

// redact leaves the secret parts out of every URL in s. The callers of a logger
// should not put them there; this is for the error text of some library that
// did.
func redact(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urlForm.ReplaceAllStringFunc(s, redactURL)
}

func redactURL(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, tail := rest[:end], rest[end:]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = hidden + "@" + host[at+1:]
	}
	if media(host) && strings.Trim(tail, "/") != "" {
		return scheme + "://" + host + "/" + hidden
	}
	path, query, found := strings.Cut(tail, "?")
	if !found {
		return scheme + "://" + host + tail
	}
	return scheme + "://" + host + path + "?" + shown(host, path, query)
}

// media tells hosts whose paths are signed.
func media(host string) bool {
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	host = strings.ToLower(host)
	return host == "googlevideo.com" || strings.HasSuffix(host, ".googlevideo.com")
}

// watchPage is a query that says which video a page is about, and no more.
var watchPage = regexp.MustCompile(`^v=[A-Za-z0-9_-]{11}$`)

// shown is what may be seen of a query.
func shown(host, path, query string) string {
	host = strings.ToLower(host)
	youtube := host == "youtube.com" || strings.HasSuffix(host, ".youtube.com")
	if youtube && path == "/watch" && watchPage.MatchString(query) {
		return query
	}
	return hidden
}
