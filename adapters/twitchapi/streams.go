package twitchapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// maxTitle limits a title, in bytes; one of Twitch has at most 140 characters.
const maxTitle = 600

// Ask implements officialstates.API: the ids are logins of at most eventsub.PerCall channels. The Response has a Broadcast of each channel that
// is live. It leaves out those of another type than live. It blocks as long as call.
func (c *Client) Ask(ctx context.Context, logins []string) (r officialstate.Response) {
	var broadcasts []officialstate.Broadcast
	query := url.Values{"user_login": logins, "first": {strconv.Itoa(len(logins))}} // without it, a page has 20
	r = c.call(ctx, officialapi.Call{URL: "/streams?" + query.Encode(), Read: func(body []byte) (err error) {
		broadcasts, err = readStreams(body, logins)
		return err
	}})
	r.Broadcasts = broadcasts
	return r
}

// readStreams reads the body of an answer.
func readStreams(body []byte, logins []string) (broadcasts []officialstate.Broadcast, err error) {
	var answer struct {
		Data *[]struct {
			ID        string
			Login     string `json:"user_login"`
			Type      string
			Title     string
			StartedAt time.Time `json:"started_at"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data == nil {
		return nil, errors.New("the response is not a list of streams")
	}
	for _, s := range *answer.Data {
		if s.ID == "" || !slices.Contains(logins, s.Login) {
			return nil, errors.New("the response has a stream that was not asked for")
		}
		if s.Type == "live" {
			broadcasts = append(broadcasts, officialstate.Broadcast{
				ID: s.Login, State: s.Type, BroadcastID: s.ID, ActualStart: s.StartedAt, Title: monitor.CleanLine(monitor.StorableText(s.Title, maxTitle)),
			})
		}
	}
	return broadcasts, nil
}
