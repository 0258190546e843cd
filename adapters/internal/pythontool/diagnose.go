package pythontool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// MaxCause is the most bytes of a Diagnosis' Cause.
const MaxCause = 150

// Diagnosis is the meaning of a tool's message about the network. The zero value stands
// for a message about something else.
type Diagnosis struct {
	State watch.StreamState // Blocked or RateLimited: the site refused; NameUnresolved, ProxyFailed; Unreachable: every other failure
	Cause string            // what failed and where; at most MaxCause bytes
}

// Detail is the cause, followed by the tool's own message, as one line.
func (d Diagnosis) Detail(message string) string { return OneLine(d.Cause + ": " + message) }

// Phrases of requests and urllib3, normalized. Diagnose tests them in this order: a
// message about a proxy also contains the failure of the connection to it.
var (
	rateLimits  = []string{"http error 429", "429 client error", "too many requests"}
	forbidden   = []string{"http error 403", "403 client error"}
	proxyFaults = []string{"proxyerror", "unable to connect to proxy", "tunnel connection failed"}

	lookupTimeouts = []string{"temporary failure in name resolution"}
	lookupFailures = []string{"name or service not known", "name resolution", "failed to resolve '", `failed to resolve \'`, "getaddrinfo", "nodename nor servname"}
	certificates   = []string{"certificate verify failed", "certificate_verify_failed"}
	handshakes     = []string{"ssl:", "sslerror", "unexpected_eof"}
	refused        = []string{"connection refused"}
	noRoutes       = []string{"network is unreachable", "no route to host"}
	timeouts       = []string{"timed out"}
	resets         = []string{
		"connection reset", "connection aborted", "connection broken", "broken pipe", "remote end closed",
		"incompleteread", "incomplete read",
	}
	otherFailures = []string{"http error 4", "http error 5", " client error: ", " server error: ", "max retries exceeded", "transporterror"}
)

var (
	host        = regexp.MustCompile(`(?i)host=\\?'([^'\\]{1,55})\\?'(?:, port=(\d+))?`)
	httpStatus  = regexp.MustCompile(`(?i)(?:http error (\d{3})|\b(\d{3}) (?:client|server) error)`)
	proxyStatus = regexp.MustCompile(`(?i)tunnel connection failed: (?:http error )?(\d{3})`)
	certificate = regexp.MustCompile(`(?i)certificate verify failed: ([a-z0-9 ,'-]{1,45})`)
)

// Diagnose reads a message about the network: Blocked for HTTP 403, RateLimited for 429,
// ProxyFailed, NameUnresolved, and Unreachable for another failure of HTTP or TLS.
func (s Site) Diagnose(message string) Diagnosis {
	text := Normalize(message)
	if slices.ContainsFunc(s.Reasons, func(r Reason) bool { return r.Request && r.matches(text) }) {
		return Diagnosis{}
	}
	has := func(phrases []string) bool { return ContainsAny(text, phrases) }
	switch {
	case has(proxyFaults):
		return s.unreachable("%s; check HTTPS_PROXY", proxyCause(text)).as(watch.ProxyFailed)
	case has(rateLimits):
		return Diagnosis{watch.RateLimited, s.Title + " limits the requests of this address (HTTP 429)"}
	case has(forbidden):
		return Diagnosis{watch.Blocked, s.Title + " refuses the requests of this address (HTTP 403)"}
	case has(lookupTimeouts), has(lookupFailures):
		return s.unreachable("%s", connectionCause(text, hostOf(text, s.Title))).as(watch.NameUnresolved)
	case has(refused), has(noRoutes):
		return s.unreachable("%s", connectionCause(text, hostOf(text, s.Title)))
	case has(certificates):
		reason := ""
		if m := certificate.FindStringSubmatch(text); m != nil {
			reason = " (" + strings.TrimSpace(m[1]) + ")"
		}
		return s.unreachable("its TLS certificate is not trusted%s; see SSL_CERT_FILE", reason)
	case has(handshakes):
		return s.unreachable("the TLS handshake fails")
	case has(timeouts):
		return s.unreachable("%s does not answer in time", hostOf(text, s.Title))
	case has(resets):
		return s.unreachable("the connection broke off")
	case has(otherFailures):
		if m := httpStatus.FindStringSubmatch(text); m != nil {
			return Diagnosis{watch.Unreachable, s.Title + " answers with an error (HTTP " + m[1] + m[2] + ")"}
		}
		return s.unreachable("the request failed")
	}
	return Diagnosis{}
}

func (s Site) unreachable(format string, args ...any) Diagnosis {
	return Diagnosis{watch.Unreachable, s.Title + " cannot be reached from here: " + fmt.Sprintf(format, args...)}
}

func (d Diagnosis) as(state watch.StreamState) Diagnosis { return Diagnosis{state, d.Cause} }

// proxyCause returns the failure of the proxy or of the connection to it.
func proxyCause(text string) string {
	if m := proxyStatus.FindStringSubmatch(text); m != nil {
		return "the proxy refuses to connect to it (HTTP " + m[1] + ")"
	}
	// The pool's host, which streamlink names first, is the site's.
	if _, rest, ok := strings.Cut(text, "unable to connect to proxy"); ok {
		text = rest
	}
	return connectionCause(text, strings.TrimSpace("the proxy "+hostOf(text, "")))
}

// connectionCause returns why there is no connection to a host.
func connectionCause(text, where string) string {
	switch {
	case ContainsAny(text, lookupTimeouts):
		return "DNS does not answer for " + where
	case ContainsAny(text, lookupFailures):
		return "DNS does not resolve " + where
	case ContainsAny(text, refused):
		return where + " refuses the connection"
	case ContainsAny(text, noRoutes):
		return "there is no route to " + where
	case ContainsAny(text, timeouts):
		return where + " does not answer in time"
	}
	return where + " cannot be reached"
}

// hostOf returns the host and port in a message of urllib3, or fallback.
func hostOf(text, fallback string) string {
	m := host.FindStringSubmatch(text)
	switch {
	case m == nil:
		return fallback
	case m[2] == "", m[2] == "443", m[2] == "80":
		return m[1]
	}
	return m[1] + ":" + m[2]
}
