package youtubeapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Limits of one call.
const (
	Timeout = 10 * time.Second // the whole exchange, body included
	MaxBody = 1 << 20          // bytes; 50 videos take about 15 KB
)

const service = "https://www.googleapis.com/youtube/v3"

// fields limits the answer to what officialstate.Video has, and kind, which shows that the answer is the API's.
const fields = "kind,items(id,snippet/liveBroadcastContent,liveStreamingDetails(actualStartTime,actualEndTime),status/uploadStatus)"

// Client asks the API. It may be used concurrently.
type Client struct {
	client  http.Client
	service string
	key     string
	redact  func(string) string
}

// New returns a Client that uses client with its proxies and certificates (decision O8). It replaces the client's
// redirect policy.
func New(client *http.Client, key string) *Client { return newAt(service, client, key) }

func newAt(service string, client *http.Client, key string) *Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{client: c, service: service, key: key, redact: outbound.Redactor(key)}
}

// Fingerprint returns what tells the key from another, and does not reveal it: nobody can try all keys of 39 characters.
func (c *Client) Fingerprint() string {
	sum := sha256.Sum256([]byte("stream-monitor youtube api key\x00" + c.key))
	return hex.EncodeToString(sum[:8])
}

// Videos implements officialstates.API. It blocks for at most Timeout.
func (c *Client) Videos(ctx context.Context, ids []string) officialstate.Response {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return c.videos(ctx, ids, fields)
}

// videos asks about videos, and limits the answer to some fields.
func (c *Client) videos(ctx context.Context, ids []string, fields string) (r officialstate.Response) {
	var videos []officialstate.Video
	r = c.call(ctx, "videos", url.Values{"part": {"snippet,liveStreamingDetails,status"}, "id": {strings.Join(ids, ",")}, "fields": {fields}}, func(body []byte) (err error) {
		videos, err = readVideos(body)
		return err
	})
	r.Videos = videos
	return r
}

// call makes one call. read reads the body of an answer. The Detail of the response says why there is none.
func (c *Client) call(ctx context.Context, method string, query url.Values, read func(body []byte) error) officialstate.Response {
	r, err := c.request(ctx, method, query, read)
	if err != nil {
		r.Detail = err.Error()
	}
	r.Detail = outbound.OneLine(c.redact(r.Detail))
	return r
}

// request makes one call. Errors: no response, or one that another server has sent.
func (c *Client) request(ctx context.Context, method string, query url.Values, read func(body []byte) error) (r officialstate.Response, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.service+"/"+method+"?"+query.Encode(), nil)
	if err != nil {
		return r, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Goog-Api-Key", c.key)
	resp, err := c.client.Do(req)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err // the URL has only the ids
		}
		return r, fmt.Errorf("the API was not reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	r.Status = resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return r, fmt.Errorf("the response breaks off: %w", err)
	case len(body) > MaxBody:
		return r, fmt.Errorf("the response has more than %d bytes", MaxBody)
	case r.Status == http.StatusOK:
		err = read(body)
	default:
		r.Reasons, r.Detail = readRefusal(body)
	}
	return r, err
}

// readVideos reads the body of an answer.
func readVideos(body []byte) (videos []officialstate.Video, err error) {
	var answer struct {
		Kind  string
		Items []struct {
			ID      string
			Snippet struct{ Title, LiveBroadcastContent string }
			Status  struct{ UploadStatus string }

			LiveStreamingDetails struct{ ScheduledStartTime, ActualStartTime, ActualEndTime time.Time }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Kind != "youtube#videoListResponse" {
		return nil, errors.New("the response is not a list of videos")
	}
	for _, v := range answer.Items {
		videos = append(videos, officialstate.Video{
			ID: v.ID, Broadcast: v.Snippet.LiveBroadcastContent, Upload: v.Status.UploadStatus,
			ActualStart: v.LiveStreamingDetails.ActualStartTime, ActualEnd: v.LiveStreamingDetails.ActualEndTime,
			Title: v.Snippet.Title, ScheduledStart: v.LiveStreamingDetails.ScheduledStartTime,
		})
	}
	return videos, nil
}

// tag matches a tag of HTML, which the messages of some refusals have.
var tag = regexp.MustCompile(`<[^>]*>`)

// readRefusal reads the body of a refusal. A body of another server has no reasons.
func readRefusal(body []byte) (reasons []string, detail string) {
	var refusal struct {
		Error struct {
			Message, Status string
			Errors, Details []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(body, &refusal); err != nil {
		return nil, "the response is none of the API"
	}
	for _, e := range append(refusal.Error.Errors, refusal.Error.Details...) {
		if e.Reason != "" {
			reasons = append(reasons, e.Reason)
		}
	}
	if refusal.Error.Status != "" {
		reasons = append(reasons, refusal.Error.Status)
	}
	if len(reasons) == 0 {
		return nil, "the response is none of the API"
	}
	return reasons, reasons[0] + ": " + tag.ReplaceAllString(refusal.Error.Message, "")
}
