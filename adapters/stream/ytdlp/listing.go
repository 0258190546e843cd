package ytdlp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// MaxListed is how many streams List asks for: a page of YouTube's.
const MaxListed = 30

// List returns the streams of a channel of a Site with Channels, or the live broadcast of a place. address is the URL of the channel. List runs yt-dlp
// once, for the list alone, and blocks for at most Timeout plus two seconds. The Listing is Partial if yt-dlp met a
// failure on the way, or if streams that have not ended may follow; yt-dlp does not tell which entries it does not
// know. The error is a *channel.Failure.
func (r *Resolver) List(ctx context.Context, address string) (channel.Listing, error) {
	if r.site.Place {
		place := monitor.StreamURL(address)
		return channel.ListingOf(place, r.Resolve(ctx, place))
	}
	args := slices.Concat(r.common, []string{
		"--flat-playlist", "--dump-single-json", "--playlist-items", "1:" + strconv.Itoa(MaxListed), "--", r.site.Channels.Page(address),
	})
	res, failure := r.tool.Run(ctx, r.log, args...)
	if failure != nil {
		return channel.Listing{}, &channel.Failure{Kind: channel.FailureOf(failure.State), Detail: failure.Detail}
	}
	return readList(r.site, res.Stdout, res.Stderr)
}

// list holds the fields of yt-dlp's JSON about a channel that are used.
type list struct {
	ID      string            `json:"channel_id"`
	Title   any               `json:"channel"`     // text, unless the site changes its pages
	Handle  string            `json:"uploader_id"` // with its @; null: the page does not say it
	Entries []json.RawMessage `json:"entries"`     // null for a page that could not be read
}

type listEntry struct {
	URL          string  `json:"url"`
	Title        any     `json:"title"`
	LiveStatus   string  `json:"live_status"`       // is_live, is_upcoming, was_live or null
	Availability string  `json:"availability"`      // subscriber_only, or null
	Release      float64 `json:"release_timestamp"` // Unix seconds, if the page says it
}

// readList turns the output of a run into a Listing. The exit code is not needed: it is 1 also if a page that
// follows cannot be read.
func readList(site pythontool.Site, stdout, stderr []byte) (channel.Listing, error) {
	found := readMessages(site, "", stderr)
	if stdout = bytes.TrimSpace(stdout); len(stdout) == 0 || string(stdout) == "null" {
		return channel.Listing{}, found.listFailure(stderr, "yt-dlp found no channel")
	}
	var l list
	if err := json.Unmarshal(stdout, &l); err != nil {
		return channel.Listing{}, unreadable(found.explain("yt-dlp's list cannot be read: " + err.Error()))
	}
	if !site.Channels.ID.MatchString(l.ID) {
		return channel.Listing{}, unreadable(found.explain("yt-dlp's list is about " + strconv.Quote(l.ID)))
	}
	listing := channel.Listing{
		ID: l.ID, Handle: label(l.Handle), Title: label(l.Title), By: Source,
		Partial: found.fault.state != "" || found.fatal != "" || strings.Contains(pythontool.Normalize(found.other), "incomplete data"),
	}
	for _, raw := range l.Entries[:min(len(l.Entries), MaxListed)] {
		s, is := readEntry(raw)
		if !is {
			listing.Partial = true
			continue
		}
		listing.Streams = append(listing.Streams, s)
	}
	n := len(listing.Streams)
	if n == 0 && listing.Partial {
		return channel.Listing{}, found.listFailure(stderr, "yt-dlp lists no stream that can be used")
	}
	if len(l.Entries) >= MaxListed && (n == 0 || listing.Streams[n-1].State != channel.Ended) {
		listing.Partial = true
	}
	return listing, nil
}

func readEntry(raw json.RawMessage) (s channel.Stream, is bool) {
	var e listEntry
	if json.Unmarshal(raw, &e) != nil {
		return s, false
	}
	address, err := monitor.ParseStreamURL(e.URL)
	s = channel.Stream{URL: address, Title: label(e.Title), State: channel.Unclear, MembersOnly: e.Availability == "subscriber_only"}
	switch e.LiveStatus {
	case "is_upcoming":
		s.State, s.ScheduledStart = channel.Upcoming, unixTime(e.Release)
	case "is_live":
		s.State = channel.Live
	case "was_live", "post_live":
		s.State = channel.Ended
	}
	return s, err == nil
}

// listFailure says why there is no list.
func (m messages) listFailure(stderr []byte, problem string) *channel.Failure {
	fatal := pythontool.Normalize(m.fatal)
	switch {
	case pythontool.ContainsAny(fatal, m.site.Channels.NoStreams):
		return &channel.Failure{Kind: channel.NoStreams, Detail: m.fatal}
	case m.reason.state == watch.Removed:
		return &channel.Failure{Kind: channel.NotFound, Detail: m.reason.text}
	case strings.Contains(fatal, "http error 404"):
		return &channel.Failure{Kind: channel.NotFound, Detail: m.fatal}
	case m.reason.state.Refused():
		return &channel.Failure{Kind: channel.FailureOf(m.reason.state), Detail: m.reason.text}
	case m.fault.state != "":
		return &channel.Failure{Kind: channel.FailureOf(m.fault.state), Detail: m.fault.text}
	case strings.HasPrefix(pythontool.LastLine(stderr), "ERROR: "):
		return unreadable(m.explain(problem))
	}
	return &channel.Failure{Kind: channel.ToolFailed, Detail: m.explain(problem)}
}

func unreadable(detail string) *channel.Failure {
	return &channel.Failure{Kind: channel.Unreadable, Detail: detail}
}
