package youtubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// service is the place of both APIs.
const service = "https://www.googleapis.com/youtube/v3"

// fields limits the answer to what officialstate.Broadcast has, and kind, which shows that the answer is the API's.
const fields = "kind,items(id,snippet/liveBroadcastContent,liveStreamingDetails(actualStartTime,actualEndTime),status/uploadStatus)"

// Client asks the API. It may be used concurrently.
type Client struct {
	caller  officialapi.Caller
	service string
	key     string
}

// New returns a Client that uses client with its proxies and certificates (decision O8). It replaces the client's
// redirect policy.
func New(client *http.Client, key string) *Client { return newAt(service, client, key) }

func newAt(service string, client *http.Client, key string) *Client {
	return &Client{officialapi.NewCaller(client), service, key}
}

// Fingerprint returns what tells a key, or the id of an OAuth client, from another. It does not reveal the key: nobody can try all of 39
// characters.
func Fingerprint(secret string) string {
	return officialapi.Fingerprint(secret)
}

// Ask implements officialstates.API. It blocks for at most officialapi.Timeout.
func (c *Client) Ask(ctx context.Context, ids []string) officialstate.Response {
	return c.videos(ctx, ids, fields)
}

// videos asks about videos, and limits the answer to some fields.
func (c *Client) videos(ctx context.Context, ids []string, fields string) (r officialstate.Response) {
	var videos []officialstate.Broadcast
	r = c.get(ctx, "videos", url.Values{"part": {"snippet,liveStreamingDetails,status"}, "id": {strings.Join(ids, ",")}, "fields": {fields}}, func(body []byte) (err error) {
		videos, err = readVideos(body)
		return err
	})
	r.Broadcasts = videos
	return r
}

// get makes a call with the key. read reads the body of an answer.
func (c *Client) get(ctx context.Context, method string, query url.Values, read func(body []byte) error) officialstate.Response {
	return c.caller.Make(ctx, officialapi.Call{
		URL: c.service + "/" + method + "?" + query.Encode(), Header: http.Header{"X-Goog-Api-Key": {c.key}}, Secrets: []string{c.key}, Refused: readRefusal, Read: read,
	})
}

// readVideos reads the body of an answer.
func readVideos(body []byte) (videos []officialstate.Broadcast, err error) {
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
		videos = append(videos, officialstate.Broadcast{
			ID: v.ID, State: v.Snippet.LiveBroadcastContent, Upload: v.Status.UploadStatus,
			ActualStart: v.LiveStreamingDetails.ActualStartTime, ActualEnd: v.LiveStreamingDetails.ActualEndTime,
			Title: v.Snippet.Title, ScheduledStart: v.LiveStreamingDetails.ScheduledStartTime,
		})
	}
	return videos, nil
}

// tag matches a tag of HTML, which the messages of some refusals have.
var tag = regexp.MustCompile(`<[^>]*>`)

// readRefusal reads the body of a refusal. A body of another server has no reasons.
func readRefusal(_ int, body []byte) (reasons []string, detail string) {
	var refusal struct {
		Error struct {
			Message, Status string
			Errors, Details []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(body, &refusal); err != nil {
		return nil, officialapi.NoneOfTheAPI
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
		return nil, officialapi.NoneOfTheAPI
	}
	return reasons, reasons[0] + ": " + tag.ReplaceAllString(refusal.Error.Message, "")
}
