package icy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	workerrequest "github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
func request(ctx context.Context, open stream.Open, mount string) (*http.Response, error) {
	secret := workerrequest.SecretOf(ctx)
	resp, err := open(workerrequest.WithHeader(ctx, watch.OwnRequestHeader(secret.Headers, mount)), mount+secret.Query)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		if interval, err := strconv.Atoi(resp.Header.Get("Icy-Metaint")); err == nil && interval > 0 {
			resp.Body = &untitled{ReadCloser: resp.Body, interval: interval, left: interval}
		}
		return resp, nil
	}
	_ = resp.Body.Close()
	_, reason, _ := strings.Cut(resp.Status, " ")
	return nil, &statusError{hostOf(mount), resp.StatusCode, reason}
}

// untitled is a body without the titles that a server puts into it, asked or not: after every interval of bytes a byte that says
// how long the title is, in units of 16 bytes, and the title.
type untitled struct {
	io.ReadCloser

	interval int
	left     int // bytes of sound until the next title
}

// Read implements io.Reader.
func (u *untitled) Read(p []byte) (int, error) {
	if u.left == 0 {
		var length [1]byte
		if _, err := io.ReadFull(u.ReadCloser, length[:]); err != nil {
			return 0, err
		}
		if _, err := io.CopyN(io.Discard, u.ReadCloser, int64(length[0])*16); err != nil {
			return 0, err
		}
		u.left = u.interval
	}
	n, err := u.ReadCloser.Read(p[:min(len(p), u.left)])
	u.left -= n
	return n, err
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
