// Package twitch is the source Twitch: how yt-dlp and streamlink are asked about the channel that a URL names, and what
// Twitch's words mean.
//
// Either tool needs a public client id alone, which it has. Twitch changes its pages often and breaks them, so each is the
// other's fallback. The broadcast's id tells one broadcast of the channel from the next (monitor.Source.Returns).
package twitch

import (
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source makes the adapters of Twitch: yt-dlp, which knows the state, and streamlink if yt-dlp learns nothing.
func Source(t stream.Tools) worker.Source {
	return worker.Source{Resolver: t.InOrder(t.YTDLP(Site), t.Streamlink(Site))}
}

// Listers makes the ways to list the live broadcast of a channel, in the order in which they are asked.
func Listers(t stream.Tools) []channels.Lister {
	return []channels.Lister{t.YTDLPLister(Site), t.StreamlinkLister(Site)}
}

// Site is Twitch as yt-dlp and streamlink are asked about it.
var Site = stream.Site{
	Title:        "Twitch",
	Place:        true,
	MediaHeaders: true,                                     // without the list of streams, streamlink does not tell the broadcast
	Options:      []string{"--no-ignore-no-formats-error"}, // which hides why the playlist is refused
	Reasons: []stream.Reason{
		{State: watch.Offline, Phrases: []string{"m3u8 information: http error 404"}, Request: true}, // the playlist knows earlier than the API
		{State: watch.MembersOnly, Phrases: []string{"subscriber-only content"}},
		{State: watch.RegionLocked, Phrases: []string{"content_geoblocked"}},
		{State: watch.Upcoming, Phrases: []string{"not currently live"}},
		{State: watch.Removed, Phrases: []string{"does not exist"}},
	},
}
