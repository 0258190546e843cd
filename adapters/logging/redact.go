package logging

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// urlPattern finds URLs in running text and in JSON, where & may be \u0026.
var urlPattern = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s"'<>\\` + "`" + `]|\\u[0-9a-fA-F]{4})+`)

const hidden = "…"

// redact removes the secret parts of every URL in s. Callers of a logger do not put
// them there, but the error texts of libraries do.
func redact(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urlPattern.ReplaceAllStringFunc(s, redactURL)
}

func redactURL(raw string) string {
	if u, err := monitor.ParseStreamURL(raw); err == nil && string(u) == raw {
		return raw // the canonical form has no secret
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, tail := rest[:end], rest[end:]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = hidden + "@" + host[at+1:]
	}
	if hasSignedPath(host) && strings.Trim(tail, "/") != "" {
		return scheme + "://" + host + "/" + hidden
	}
	path, _, found := strings.Cut(tail, "?")
	if !found {
		return scheme + "://" + host + tail
	}
	return scheme + "://" + host + path + "?" + hidden
}

// hasSignedPath reports whether the paths of a host are signed.
func hasSignedPath(host string) bool {
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	host = strings.ToLower(host)
	return slices.ContainsFunc(monitor.Sources, func(source monitor.Source) bool {
		return slices.ContainsFunc(source.SecretHosts, func(domain string) bool {
			return host == domain || strings.HasSuffix(host, "."+domain)
		})
	})
}
