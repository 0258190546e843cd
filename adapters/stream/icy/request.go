package icy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	workerrequest "github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Open requests an endless response and returns it, whatever its status is, once its header is read. Its errors, and those of
// reading its body, are *watch.Failure or io.EOF.
type Open func(ctx context.Context, url string) (*http.Response, error)

// statusError is a response that is no stream.
type statusError struct {
	host   string
	code   int
	reason string // what the status line says beside the code
}

// Error implements error.
func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%s: answered %d %s", e.host, e.code, monitor.CleanLine(e.reason)))
	if e.missing() {
		text += ": nobody feeds the mount now"
	}
	return text
}

// missing reports whether nobody feeds the mount now. SHOUTcast then answers "ICY 401 Service Unavailable".
func (e *statusError) missing() bool {
	return e.code == http.StatusNotFound || e.code == http.StatusGone || e.code == http.StatusUnauthorized && e.reason == "Service Unavailable"
}

// request opens a stream, with the secret of ctx. The error is a *statusError or a *watch.Failure.
func request(ctx context.Context, open Open, mount string) (*http.Response, error) {
	secret := workerrequest.SecretOf(ctx)
	resp, err := open(workerrequest.WithHeader(ctx, watch.OwnRequestHeader(secret.Headers, mount)), mount+secret.Query)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close()
	_, reason, _ := strings.Cut(resp.Status, " ")
	return nil, &statusError{hostOf(mount), resp.StatusCode, reason}
}

// failureOf returns the failure of a reading. No status asks for another URL: a mount has one.
func failureOf(err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	return watch.NewFailure(watch.FailureNetwork, "%v", err)
}

// hostOf returns the host of the URL of a mount, with its port.
func hostOf(mount string) string {
	u, err := url.Parse(mount)
	if err != nil {
		return "the server"
	}
	return u.Host
}
