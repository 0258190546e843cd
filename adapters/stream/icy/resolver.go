package icy

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lookLimit is the time limit of a look at a stream.
const lookLimit = 20 * time.Second

// Source makes the adapters of audio streams.
func Source(t stream.Tools) worker.Source {
	return worker.Source{Resolver: NewResolver(t.Endless), Media: func(monitor.StreamURL) worker.Media { return NewReceiver(t.Endless) }}
}

// Resolver is a worker.Resolver: it requests the stream and looks at the first frames. It may be used concurrently.
//
//	frames of MP3 or AAC, Ogg           ▶ live
//	404, 410, ICY 401                   ▶ upcoming: nobody feeds the mount
//	any status but these, such as 503   ▶ upcoming, also 403: Icecast has no room for a further listener
//	401; 403 and 410 of credentials     ▶ denied
//	a connection refused, or broken off ▶ the server is down
//	200 without such frames             ▶ not a live stream
//	429                                 ▶ too many requests
//	anything else                       ▶ the state is unknown
type Resolver struct{ open stream.Open }

// NewResolver makes a Resolver.
func NewResolver(open stream.Open) Resolver { return Resolver{open} }

// Resolve implements worker.Resolver. It blocks for at most lookLimit.
func (r Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	answer := watch.Resolution{Source: string(monitor.ICY)}
	mount := url.ID()
	resp, err := request(ctx, r.open, mount)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		err = look(resp)
	}
	if err != nil {
		failure := failureOf(err)
		answer.State, answer.Detail = failure.OwnState(), failure.Detail
		return answer
	}
	kilobits, _ := strconv.Atoi(resp.Header.Get("Icy-Br")) // 0: it is not said
	answer.State, answer.Title = watch.Live, monitor.CleanLine(resp.Header.Get("Icy-Name"))
	answer.Renditions = []watch.Rendition{{URL: mount, Bandwidth: max(0, kilobits) * 1000, HasAudio: true}}
	return answer
}

// look reads the first frames of a stream.
func look(resp *http.Response) error {
	var c cutter
	buffer, size := make([]byte, readSize), 0
	for c.length == 0 {
		n, err := resp.Body.Read(buffer)
		whole, strange := c.add(buffer[:n])
		if len(whole) > 0 {
			return nil
		}
		size += n
		switch {
		case err == io.EOF && size == 0: // an encoder that has just come or gone
			failure := watch.NewFailure(watch.FailureNetwork, "%s: ended the stream before it began", resp.Request.URL.Host)
			failure.Empty = true
			return failure
		case strange != nil && c.codec.container == ogg:
			return watch.NewFailure(watch.FailureUndecodable, "%s sends %s: %v", resp.Request.URL.Host, contentType(resp), strange)
		case strange != nil, err == io.EOF && c.length == 0:
			return watch.NewFailure(watch.FailureUndecodable, "%s sends %s and %s; expected is the stream itself, and not its page, nor an .m3u or .pls that names it",
				resp.Request.URL.Host, contentType(resp), noFormat)
		case err != nil && c.length == 0:
			return err
		}
	}
	return nil
}

// contentType returns what a response says that it has.
func contentType(resp *http.Response) string {
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		return t
	}
	return "something"
}
