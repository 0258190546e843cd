package media

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// statusFailure returns the Failure of a response whose status is not a success.
//
//	401 403               refused: the URL is resolved again (decision S7), or YouTube refuses this address (S6)
//	404 410               expired: the URL is resolved again (decision S7)
//	429                   rate_limited: the request is repeated later
//	416                   truncated: the resource is shorter than its playlist says
//	everything else       network: the request is repeated later
func statusFailure(host string, status int) *watch.Failure {
	kind := watch.FailureNetwork
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = watch.FailureRefused
	case http.StatusNotFound, http.StatusGone:
		kind = watch.FailureExpired
	case http.StatusTooManyRequests:
		kind = watch.FailureRateLimited
	case http.StatusRequestedRangeNotSatisfiable:
		kind = watch.FailureTruncated
	}
	failure := watch.NewFailure(kind, "%s: answered %d", host, status)
	failure.Status = status
	return failure
}

// requestFailure returns the Failure of a request that got no response. It says
// what failed, then the cause in plain words, then the Go library's words. An error
// that may contain a URL is not quoted.
func (f *fetch) requestFailure(u *url.URL, err error) *watch.Failure {
	if cause := context.Cause(f.ctx); cause != nil {
		err = cause
	}
	host := u.Host
	problem := host + " gave no usable answer"
	switch {
	case errors.Is(err, context.Canceled):
		problem = host
	case isRefusedHere(err):
		problem = host + " is not asked"
	case isUnreachable(err):
		problem = host + " cannot be reached"
	}
	failure := watch.NewFailure(watch.FailureNetwork, "%s: %s", problem, f.describe(err))
	failure.Down = f.isDown(u, err)
	return failure
}

// isDown reports whether the server of a URL itself refused the connection, or broke it off. A name
// server, a proxy and a timeout prove nothing about it. A *net.DNSError wraps no cause.
func (f *fetch) isDown(u *url.URL, err error) bool {
	return f.client.transport.asksItself(u) && slices.ContainsFunc(brokenOff, func(how error) bool { return errors.Is(err, how) })
}

var brokenOff = []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF}

// readFailure returns the Failure of a response whose body could not be read.
func (f *fetch) readFailure(u *url.URL, err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	if cause := context.Cause(f.ctx); cause != nil {
		err = cause
	}
	host := u.Host
	problem := host + " did not send its whole answer"
	if errors.Is(err, context.Canceled) {
		problem = host
	}
	failure := watch.NewFailure(watch.FailureNetwork, "%s: %s", problem, f.describe(err))
	failure.Down = f.isDown(u, err)
	return failure
}

// isRefusedHere reports whether this package refused the request.
func isRefusedHere(err error) bool {
	return slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) })
}

var refusals = []error{errRedirects, errAddress, errScheme, errHost, errProxy}

// isUnreachable reports whether there was no connection over which to ask.
func isUnreachable(err error) bool {
	_, lookup := errors.AsType[*net.DNSError](err)
	_, refusedByProxy := errors.AsType[proxyStatus](err)
	operation, network := errors.AsType[*net.OpError](err)
	return lookup || refusedByProxy || network && (operation.Op == "dial" || operation.Op == "proxyconnect") ||
		describeTLS(err) != "" || withoutURL(err).Error() == tlsTimeout
}

// describe returns the cause of err in plain words, followed by those of the Go
// library where they add something and cannot contain a URL.
func (f *fetch) describe(err error) string {
	c := f.client.config
	switch {
	case errors.Is(err, context.Canceled):
		return "the fetch was stopped"
	case errors.Is(err, errStalled):
		return fmt.Sprintf("nothing came for %v", c.Stall)
	case errors.Is(err, errSlow):
		return fmt.Sprintf("it came too slowly: fewer than %d bytes a second over %v", c.MinRate, c.Stall)
	case errors.Is(err, errTotal):
		return fmt.Sprintf("it took too long in all: more than %v", c.Total)
	}
	for _, refusal := range append([]error{f.client.transport.refusal}, refusals...) {
		if errors.Is(err, refusal) {
			return refusal.Error()
		}
	}
	if status, ok := errors.AsType[proxyStatus](err); ok {
		return "the proxy refuses to connect to it: " + status.Error()
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return describeLookup(lookup)
	}
	if cause := describeTLS(err); cause != "" {
		return cause
	}
	return describeConnection(err)
}

// describeLookup leaves out the address of the DNS server.
func describeLookup(err *net.DNSError) string {
	cause := "DNS cannot look up " + err.Name
	switch {
	case err.IsNotFound:
		cause = "DNS does not resolve " + err.Name
	case err.IsTimeout:
		cause = "the DNS server does not answer for " + err.Name
	}
	return fmt.Sprintf("%s (%v)", cause, &net.DNSError{Err: err.Err, Name: err.Name})
}

// describeTLS returns the cause of a failed TLS handshake, or "".
func describeTLS(err error) string {
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("its TLS certificate is not trusted here; SSL_CERT_FILE adds authorities (%v)", certificate)
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Sprintf("it does not speak TLS (%v)", record)
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "it does not speak TLS (it answered with HTTP)"
	}
	// crypto/tls has no exported type for an alert.
	if operation, ok := errors.AsType[*net.OpError](err); ok && strings.HasSuffix(operation.Op, " error") {
		return fmt.Sprintf("the TLS handshake failed (%v)", operation)
	}
	if text := withoutURL(err).Error(); strings.HasPrefix(text, "tls: ") {
		return fmt.Sprintf("the TLS handshake failed (%s)", text)
	}
	return ""
}

// describeConnection returns the cause of a broken connection, or of one that
// was never made.
func describeConnection(err error) string {
	peer, quoted := "it", ""
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		if operation.Op == "proxyconnect" {
			peer = "the proxy"
		}
		quoted = fmt.Sprintf(" (%v)", operation)
	} else if text := withoutURL(err).Error(); text == tlsTimeout || text == headerTimeout {
		quoted = " (" + text + ")"
	}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return peer + " refuses the connection" + quoted
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to " + peer + quoted
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return peer + " broke the connection" + quoted
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out, " + peer + " does not answer" + quoted
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return peer + " closed the connection without an answer"
	case quoted != "":
		return "the connection failed" + quoted
	}
	return "the HTTP exchange failed"
}

// Texts of net/http errors that have no exported type.
const (
	tlsTimeout    = "net/http: TLS handshake timeout"
	headerTimeout = "net/http: timeout awaiting response headers"
)

// withoutURL returns the error below the one that names the requested URL.
func withoutURL(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}
