package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxErrorLength limits an attempt's error, in characters.
const MaxErrorLength = 300

// describeFailure says in one line why there was no response. It names no address, because
// the caller must not learn the addresses of internal hosts and of the name server.
func (c *Client) describeFailure(ctx, limited context.Context, err error) string {
	var network net.Error
	switch {
	case errors.Is(err, ErrRefused):
		return OneLine(withoutAddresses(err))
	case errors.Is(ctx.Err(), context.Canceled):
		return "cancelled"
	case limited.Err() != nil, errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("no answer within %v", c.cfg.Timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed before an answer came"
	}
	return OneLine(withoutAddresses(err))
}

// withoutAddresses returns the text of a transport's error without addresses.
func withoutAddresses(err error) string {
	if lookup, is := errors.AsType[*net.DNSError](err); is {
		if lookup.IsNotFound {
			return fmt.Sprintf("the host %.100q has no address", lookup.Name)
		}
		return fmt.Sprintf("the host %.100q could not be looked up", lookup.Name)
	}
	if op, is := errors.AsType[*net.OpError](err); is && op.Err != nil {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// describeResponse describes a response that is not 2xx in one line.
func describeResponse(res *http.Response) string {
	status := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	if res.StatusCode < 300 || res.StatusCode > 399 {
		return status
	}
	to := ""
	if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
		to = " (to " + u.Scheme + "://" + u.Host + "/…)"
	}
	return OneLine(status + to + ": redirects are not followed; register the final URL")
}

// OneLine makes one line of a text, of at most MaxErrorLength characters.
func OneLine(s string) string {
	s = monitor.CleanLine(s)
	if r := []rune(s); len(r) > MaxErrorLength {
		s = string(r[:MaxErrorLength-1]) + "…"
	}
	return s
}
