// Package twitcasting is the source TwitCasting: one GET of JSON says whether a user broadcasts, and where the HLS is.
// streamlink asks the same if that learns nothing, with another client.
//
// TwitCasting tells the broadcast's id (movie.id), but neither its start nor why it lists no media. So the state of a broadcast
// with a password, or for members, stays unknown. The media need the headers of its pages.
package twitcasting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of one question.
const (
	Timeout = 10 * time.Second // the whole exchange
	MaxBody = 256 << 10        // bytes
)

// Name is the Source of every Resolution.
const Name = "streamserver"

const service = "https://twitcasting.tv/"

// Site is TwitCasting as streamlink is asked about it.
var Site = stream.Site{Title: "TwitCasting", Place: true, MediaHeaders: true}

// Source makes the adapters of TwitCasting: its own request, and streamlink if that learns nothing.
func Source(t stream.Tools) worker.Source {
	return worker.Source{Resolver: t.InOrder(New(t.Client), t.Streamlink(Site))}
}

// Listers makes the ways to list the live broadcast of a user, in the order in which they are asked.
func Listers(t stream.Tools) []channels.Lister {
	return []channels.Lister{t.Guarded(Name, New(t.Client)), t.StreamlinkLister(Site)}
}

// Resolver is a worker.Resolver, and a channels.Lister. It may be used concurrently.
type Resolver struct{ client http.Client }

// New makes a Resolver that uses client with its proxies and certificates. It follows no redirect.
func New(client *http.Client) *Resolver {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Resolver{c}
}

// answer is what TwitCasting says of a user.
type answer struct {
	Movie *struct {
		ID   uint64 `json:"id"`
		Live bool   `json:"live"`
	} `json:"movie"`
	HLS struct {
		Streams map[string]string `json:"streams"`
	} `json:"tc-hls"`
}

// heights are those of the names of streams, as yt-dlp knows them.
var heights = []struct {
	name   string
	height int
}{{"low", 360}, {"medium", 720}, {"high", 1080}}

// Resolve implements worker.Resolver. It blocks for at most Timeout.
func (r *Resolver) Resolve(ctx context.Context, u monitor.StreamURL) watch.Resolution {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	found := watch.Resolution{Source: Name}
	a, failure := r.ask(ctx, u.ID())
	switch {
	case failure.State != "":
		found.State, found.Detail = failure.State, failure.Detail
	case a.Movie == nil, a.Movie.ID == 0, !a.Movie.Live:
		found.State, found.Detail = watch.Upcoming, "TwitCasting shows no live broadcast"
	default:
		found.State, found.Broadcast, found.Channel = watch.Live, strconv.FormatUint(a.Movie.ID, 10), u.ID()
		a.locate(&found)
	}
	return found
}

// List returns the live broadcast of a user. The error is a *channel.Failure.
func (r *Resolver) List(ctx context.Context, address string) (channel.Listing, error) {
	place := monitor.StreamURL(address)
	return channel.ListingOf(place, r.Resolve(ctx, place))
}

// locate adds the renditions to a live answer.
func (a answer) locate(found *watch.Resolution) {
	var urls []string
	for _, h := range heights {
		if text := a.HLS.Streams[h.name]; isWebURL(text) {
			urls = append(urls, text)
			found.Renditions = append(found.Renditions, watch.Rendition{URL: text, Height: h.height, HasVideo: true, HasAudio: true})
		}
	}
	if len(urls) == 0 {
		found.State, found.Detail = watch.ToolFailed, "TwitCasting lists no HLS of the live broadcast; it may need a password or a membership"
		return
	}
	found.Header = watch.NewRequestHeader(map[string]string{"Origin": "https://twitcasting.tv", "Referer": service}, nil, urls)
}

func isWebURL(text string) bool {
	const maxURL = 8 << 10
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxURL && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// ask sends the question about a user. A failure has a state.
func (r *Resolver) ask(ctx context.Context, user string) (a answer, failure watch.Resolution) {
	failed := func(s watch.StreamState, format string, args ...any) (answer, watch.Resolution) {
		return answer{}, watch.Resolution{State: s, Detail: fmt.Sprintf(format, args...)}
	}
	query := url.Values{"target": {user}, "mode": {"client"}, "player": {"pc_web"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, service+"streamserver.php?"+query.Encode(), nil)
	if err != nil {
		return failed(watch.ToolFailed, "%v", err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		state := watch.Unreachable
		if _, ok := errors.AsType[*net.DNSError](err); ok {
			state = watch.NameUnresolved
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it only repeats the request
			err = wrapped.Err
		}
		return failed(state, "TwitCasting cannot be reached from here: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch code := resp.StatusCode; {
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return failed(watch.Blocked, "TwitCasting refuses the requests of this address (HTTP %d)", code)
	case code == http.StatusTooManyRequests:
		return failed(watch.RateLimited, "TwitCasting limits the requests of this address (HTTP 429)")
	case code != http.StatusOK:
		return failed(watch.Unreachable, "TwitCasting answers with an error (HTTP %d)", code)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return failed(watch.Unreachable, "TwitCasting's answer broke off: %v", err)
	case len(body) > MaxBody:
		return failed(watch.ToolFailed, "TwitCasting's answer has more than %d bytes", MaxBody)
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return failed(watch.ToolFailed, "TwitCasting's answer cannot be used: it is not the JSON that is known")
	}
	return a, watch.Resolution{}
}
