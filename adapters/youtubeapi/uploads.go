package youtubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Source is the By of every Listing.
const Source = "data-api"

// maxTitle limits a title, in bytes.
const maxTitle = 400

// listedFields limits an answer about videos to what a Listing has.
const listedFields = "kind,items(id,snippet(title,liveBroadcastContent),liveStreamingDetails(scheduledStartTime,actualStartTime,actualEndTime),status/uploadStatus)"

const site = "https://www.youtube.com/"

// List returns the streams among the newest 50 uploads of a channel. address is a channel.Address. It makes at most
// officialstate.UploadsUnits calls, and HandleUnits more for a handle, and blocks for at most officialapi.Timeout for each. The
// Listing is always Partial: streams for members, those that are not public, and those of some channels are no
// uploads. The error is a *channel.Failure.
func (c *Client) List(ctx context.Context, address string) (channel.Listing, error) {
	id := channel.Address(address).SourceID()
	if id == "" {
		var err error
		if id, err = c.channelOf(ctx, strings.TrimPrefix(address, site)); err != nil {
			return channel.Listing{}, err
		}
	}
	ids, err := c.uploads(ctx, id)
	if err != nil {
		return channel.Listing{}, err
	}
	listing := channel.Listing{ID: id, By: Source, Partial: true}
	if len(ids) == 0 {
		return listing, nil
	}
	r := c.videos(ctx, ids, listedFields)
	if failure := r.Failure(); failure != nil {
		return channel.Listing{}, listFailure(failure)
	}
	for _, v := range r.Broadcasts {
		if s, is := streamOf(v); is {
			listing.Streams = append(listing.Streams, s)
		}
	}
	return listing, nil
}

// channelOf returns the id of the channel with a handle.
func (c *Client) channelOf(ctx context.Context, handle string) (id string, err error) {
	if !strings.HasPrefix(handle, "@") {
		return "", &channel.Failure{Kind: channel.Unreadable, Detail: "the API finds a channel by its id or its @handle only"}
	}
	ids, r := c.list(ctx, "channels", url.Values{"part": {"id"}, "forHandle": {handle}, "fields": {"kind,items(id)"}}, "youtube#channelListResponse")
	switch failure := r.Failure(); {
	case failure != nil:
		return "", listFailure(failure)
	case len(ids) == 0:
		return "", &channel.Failure{Kind: channel.NotFound, Detail: "the API knows no channel with this handle"}
	case channel.Address(site+"channel/"+ids[0]).SourceID() == "":
		return "", &channel.Failure{Kind: channel.Unreadable, Detail: "the API gives the channel an id in a form that is not known"}
	}
	return ids[0], nil
}

// uploads returns the newest uploads of a channel.
func (c *Client) uploads(ctx context.Context, id string) (videos []string, err error) {
	query := url.Values{
		"part": {"contentDetails"}, "playlistId": {"UU" + strings.TrimPrefix(id, "UC")}, "maxResults": {strconv.Itoa(officialstate.PerCall)},
		"fields": {"kind,items(contentDetails/videoId)"},
	}
	videos, r := c.list(ctx, "playlistItems", query, "youtube#playlistItemListResponse")
	failure := r.Failure()
	switch {
	case slices.Contains(r.Reasons, "playlistNotFound"):
		return nil, &channel.Failure{Kind: channel.Unreadable, Detail: "the API has no uploads of the channel, or does not know it"}
	case failure != nil:
		return nil, listFailure(failure)
	}
	return videos, nil
}

// list makes a call whose answer is a list of ids.
func (c *Client) list(ctx context.Context, method string, query url.Values, kind string) (ids []string, r officialstate.Response) {
	r = c.get(ctx, method, query, func(body []byte) error {
		var answer struct {
			Kind  string
			Items []struct {
				ID             string
				ContentDetails struct{ VideoID string }
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.Kind != kind {
			return errors.New(officialapi.NoneOfTheAPI)
		}
		for _, item := range answer.Items {
			ids = append(ids, item.ID+item.ContentDetails.VideoID)
		}
		return nil
	})
	return ids, r
}

// streamOf returns the stream that a video is. It reports false of a video that is no stream, and of one whose state it cannot read.
func streamOf(v officialstate.Broadcast) (s channel.Stream, is bool) {
	address, err := monitor.ParseStreamURL(site + "watch?v=" + v.ID)
	states := map[monitor.StreamStatus]channel.State{
		monitor.StreamUpcoming: channel.Upcoming, monitor.StreamLive: channel.Live, monitor.StreamEnded: channel.Ended,
	}
	s = channel.Stream{URL: address, Title: monitor.CleanLine(monitor.StorableText(v.Title, maxTitle)), State: states[v.Status()]}
	if s.State == channel.Upcoming {
		s.ScheduledStart = v.ScheduledStart
	}
	return s, err == nil && s.State != ""
}

// listFailure returns a failure of the API as one to list a channel. A refusal concerns the key: it says nothing of the
// channel, nor of the address that asks.
func listFailure(f *officialstate.Failure) *channel.Failure {
	kind := channel.Refused
	switch f.Kind {
	case officialstate.Unreachable:
		kind = channel.Network
	case officialstate.Malformed:
		kind = channel.Unreadable
	}
	return &channel.Failure{Kind: kind, Detail: "YouTube Data API: " + f.Detail}
}
