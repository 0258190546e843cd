package media

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// statusFailure says what a status other than success means.
//
//	401 403 404 410       expired: resolve again (decision S7)
//	416                   truncated: the resource is shorter than its playlist says
//	everything else       network: ask again later
func statusFailure(host string, status int) *watch.Failure {
	kind := watch.FailureNetwork
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		kind = watch.FailureExpired
	case http.StatusRequestedRangeNotSatisfiable:
		kind = watch.FailureTruncated
	}
	return watch.NewFailure(kind, "%s: answered %d", host, status)
}

// failure makes a Failure of what ended an exchange with host. What is not
// known to be free of URLs is not quoted.
func (f *fetch) failure(host string, err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	if cause := context.Cause(f.ctx); cause != nil {
		err = cause
	}
	return watch.NewFailure(watch.FailureNetwork, "%s: %s", host, describe(err))
}

func describe(err error) string {
	for _, known := range []error{errStalled, errSlow, errTotal, errRedirects, errRefused, errScheme, errHost} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var (
		proxy     proxyRefusal
		operation *net.OpError
		lookup    *net.DNSError
		handshake *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		timeout   net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "stopped"
	case errors.As(err, &proxy):
		return proxy.Error()
	case errors.As(err, &lookup):
		return (&net.DNSError{Err: lookup.Err, Name: lookup.Name}).Error() // without the name service's address
	case errors.As(err, &operation):
		return operation.Error()
	case errors.As(err, &handshake):
		return handshake.Error()
	case errors.As(err, &record):
		return record.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed the connection without an answer"
	}
	return "the exchange failed"
}
