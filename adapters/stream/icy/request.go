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

// refusal returns the failure of a response that is no stream. SHOUTcast says by "ICY 401 Service Unavailable" that nobody feeds the
// mount. Icecast answers 403 when it has no room for a further listener, other servers when they refuse what a request carried.
func refusal(mount string, secret monitor.StreamSecret, resp *http.Response) *watch.Failure {
	_, reason, _ := strings.Cut(resp.Status, " ")
	carried := secret.Query != "" || len(secret.Headers) > 0
	full := !carried || strings.HasPrefix(resp.Header.Get("Server"), "Icecast")
	kind, why := watch.FailureNetwork, ""
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusGone && secret.Query == "", code == http.StatusUnauthorized && reason == "Service Unavailable":
		why = ": nobody feeds the mount now"
	case code == http.StatusUnauthorized && !carried:
		kind, why = watch.FailureDenied, ": the server wants credentials, and the stream has none"
	case code == http.StatusUnauthorized, code == http.StatusGone, code == http.StatusForbidden && !full:
		kind, why = watch.FailureDenied, ": the server refuses the credentials of the stream"
	case code == http.StatusTooManyRequests:
		kind = watch.FailureRateLimited
	}
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, monitor.CleanLine(reason)))
	failure := watch.NewFailure(kind, "%s: answered %s%s", hostOf(mount), status, why)
	failure.Status = resp.StatusCode
	return failure
}

// request opens a stream, with the secret of ctx. Errors are *watch.Failure.
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
	return nil, refusal(mount, secret, resp)
}

// untitled is a body without the titles that a server puts into it, asked or not. After every interval of bytes comes the length
// of a title, a byte in units of 16 bytes, and then the title.
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

// failureOf returns the failure of a request or of a reading.
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
