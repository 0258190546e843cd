package youtube

import (
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube/browse"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source makes the adapters of YouTube: yt-dlp, streamlink if yt-dlp learns nothing (section 5.2), and oEmbed.
func Source(t stream.Tools) worker.Source {
	s := Site(t.Choices)
	return worker.Source{Resolver: t.InOrder(t.YTDLP(s), t.Streamlink(s)), Prober: NewProber(t.Client)}
}

// Listers makes the ways to list the streams of a channel of YouTube, in the order in which they are asked. Our own
// request costs one exchange. yt-dlp outlives a change of that request. The official API, for which there must be a
// key, also answers an address that YouTube refuses.
func Listers(t stream.Tools) []channels.Lister {
	all := []channels.Lister{t.Guarded(browse.Source, browse.New(t.Client)), t.YTDLPLister(Site(t.Choices))}
	if t.Uploads != nil {
		all = append(all, t.Uploads)
	}
	return all
}

// Site is YouTube as yt-dlp and streamlink are asked about it, as an operator chooses.
func Site(c stream.Choices) stream.Site {
	s := site
	if name, _, _ := strings.Cut(c.JSRuntime, ":"); name != "node" { // which does not know the option that yt-dlp gives it then
		s.Options = append(s.Options, "--extractor-args", withoutJIT)
	}
	if c.POTokenURL != "" {
		s.Options = append(s.Options, "--extractor-args", "youtubepot-bgutilhttp:base_url="+c.POTokenURL)
	}
	withDASH := "youtube:formats=incomplete"
	if c.PlayerClients != "" {
		clients := "player_client=" + c.PlayerClients
		s.Options = append(s.Options, "--extractor-args", "youtube:"+clients)
		withDASH += ";" + clients // the later arguments of an extractor replace the earlier ones
	}
	s.ListDASH = []string{"--extractor-args", withDASH}
	return s
}

// withoutJIT makes a runtime interpret YouTube's challenges. Otherwise deno reserves 512 MiB for machine
// code, which count, so that no limit would keep it within a pod. A challenge takes twice the CPU time.
const withoutJIT = "youtube-ejs:jitless=true"

// site is what no choice changes. "Video unavailable" introduces every kind of reason, so it means a removed
// video only if nothing follows.
var site = stream.Site{
	Title:    "YouTube",
	Channels: stream.Channels{ID: browse.ChannelID, Page: browse.StreamsPage, NoStreams: []string{"does not have a streams tab"}},
	Reasons: []stream.Reason{
		{State: watch.Offline, Phrases: []string{"offline"}, Whole: true}, // no encoder is connected
		{State: watch.Removed, Phrases: []string{"video unavailable"}, Whole: true},
		{State: watch.Blocked, Cause: "YouTube demands a bot check from this address", Phrases: []string{"not a bot", "captcha challenge", "unusual traffic"}},
		{State: watch.Blocked, Cause: "the network of this address restricts what YouTube shows", Phrases: []string{"administrator", "restricted mode", "video is restricted"}},
		{State: watch.RateLimited, Cause: "YouTube limits the requests of this address", Phrases: []string{"rate-limited by youtube", "try again later"}},
		{State: watch.Blocked, Cause: "YouTube refuses the requests of this address", Phrases: []string{
			"likely being blocked", "vpn", "on this app", "on this device", "in this browser", "on other websites", "to be reloaded",
		}},
		{State: watch.RegionLocked, Phrases: []string{"in your country", "from your location", "in your location", "geo restriction"}},
		{State: watch.AgeRestricted, Phrases: []string{"confirm your age", "age-restricted", "age restricted", "inappropriate for some users"}},
		{State: watch.MembersOnly, Phrases: []string{"members-only", "channel's members", "join this channel", "requires payment", "premium members"}},
		{State: watch.Ended, Phrases: []string{"event has ended", "stream has ended", "recording is not available"}},
		{State: watch.Upcoming, Phrases: []string{"will begin", "premieres in", "scheduled for"}},
		{State: watch.Private, Phrases: []string{"private video", "video is private", "granted access"}},
		{State: watch.Blocked, Cause: "YouTube demands a sign-in from this address", Phrases: []string{"sign in"}},
		{State: watch.Removed, Phrases: []string{
			"video is unavailable", "video is not available", "video isn't available", "no longer available",
			"has been removed", "has been terminated", "has closed their youtube account", "does not exist", "on copyright grounds",
		}},
	},
}
