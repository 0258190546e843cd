package browse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
)

// Source is the By of every Listing.
const Source = "browse"

// Limits of one List.
const (
	Timeout  = 20 * time.Second // all of its requests
	MaxBody  = 8 << 20          // bytes of an answer; a page of 30 entries has some hundred KB
	MaxPages = 5                // that are read of a tab
)

const service = "https://www.youtube.com"

// Values that the pages send. streamsTab selects the tab of streams.
const (
	clientName    = "WEB"
	clientVersion = "2.20261120.00.00"
	streamsTab    = "EgdzdHJlYW1z8gYECgJ6AA%3D%3D"
	consented     = "SOCS=CAI" // the cookie that says that cookies were decided about; without it a page asks for it
)

// Lister asks for the streams of channels. It may be used concurrently.
type Lister struct{ client http.Client }

// New makes a Lister that uses client with its proxies and certificates. It replaces the client's redirect policy.
func New(client *http.Client) *Lister {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Lister{c}
}

// StreamsPage returns the URL of the page of a channel's streams. address is the URL of the channel.
func StreamsPage(address string) string {
	return service + (&url.URL{Path: strings.TrimPrefix(address, service) + "/streams"}).EscapedPath()
}

// List returns the streams of a channel. address is the URL of the channel: https://www.youtube.com/ and channel/UC…,
// @handle, c/NAME or user/NAME. It blocks for at most Timeout. The error is a *channel.Failure.
func (l *Lister) List(ctx context.Context, address string) (channel.Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	listing, err := l.list(ctx, address)
	if err != nil {
		return channel.Listing{}, err
	}
	listing.By = Source
	return listing, nil
}

func (l *Lister) list(ctx context.Context, address string) (channel.Listing, error) {
	id, isID := strings.CutPrefix(address, service+"/channel/")
	if !isID {
		var err error
		if id, err = l.resolve(ctx, address); err != nil {
			return channel.Listing{}, err
		}
	}
	body, err := l.ask(ctx, "browse", object{"browseId": id, "params": streamsTab})
	if err != nil {
		return channel.Listing{}, err
	}
	p, err := readTab(id, body)
	if err != nil {
		return channel.Listing{}, err
	}
	for pages := 1; p.mayContinue(); pages++ {
		if pages == MaxPages {
			p.Partial = true
			break
		}
		if body, err = l.ask(ctx, "browse", object{"continuation": p.continuation}); err == nil {
			err = p.readMore(body)
		}
		if err != nil {
			return channel.Listing{}, err
		}
	}
	return p.Listing, nil
}

// resolve returns the id of the channel that has an address.
func (l *Lister) resolve(ctx context.Context, address string) (id string, err error) {
	body, err := l.ask(ctx, "navigation/resolve_url", object{"url": StreamsPage(address)})
	if err != nil {
		return "", err
	}
	return readID(body)
}

type object map[string]any

// ask sends a request of the pages' API and returns the body of a 200.
func (l *Lister) ask(ctx context.Context, endpoint string, question object) ([]byte, error) {
	question["context"] = object{"client": object{"clientName": clientName, "clientVersion": clientVersion, "hl": "en"}}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, failed(channel.Unreadable, "%v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service+"/youtubei/v1/"+endpoint+"?prettyPrint=false", bytes.NewReader(body))
	if err != nil {
		return nil, failed(channel.Unreadable, "%v", err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Origin": service, "Cookie": consented, "User-Agent": "stream-monitor",
		"X-YouTube-Client-Name": "1", "X-YouTube-Client-Version": clientVersion, // 1 is WEB
	} {
		req.Header.Set(name, value)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, failed(channel.Network, "YouTube was not reached: %v", withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return nil, failed(channel.Network, "YouTube's answer broke off: %v", withoutURL(err))
	case len(answer) > MaxBody:
		return nil, failed(channel.Unreadable, "YouTube's answer has more than %d bytes", MaxBody)
	}
	return answer, nil
}

// refusal returns the failure of a status other than 200. Of a redirect only the host is told.
func refusal(resp *http.Response) *channel.Failure {
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound:
		return failed(channel.NotFound, "YouTube knows no such channel (HTTP 404)")
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return failed(channel.Refused, "YouTube refuses the requests of this address (HTTP %d)", code)
	case code == http.StatusTooManyRequests:
		return failed(channel.RateLimited, "YouTube limits the requests of this address (HTTP 429)")
	case code >= 500:
		return failed(channel.Network, "YouTube answers with an error (HTTP %d)", code)
	case code >= 300 && code < 400:
		host := "elsewhere"
		if to, err := resp.Location(); err == nil && to.Host != "" {
			host = "to " + to.Host
		}
		return failed(channel.Refused, "YouTube does not answer this address, but leads it %s (HTTP %d)", host, code)
	default:
		return failed(channel.Unreadable, "YouTube does not take the question (HTTP %d)", code)
	}
}

// withoutURL removes the URL from a client's error: it only repeats the request.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

func failed(kind channel.FailureKind, format string, args ...any) *channel.Failure {
	return &channel.Failure{Kind: kind, Detail: line(fmt.Sprintf(format, args...), maxDetail)}
}
