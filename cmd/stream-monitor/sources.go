package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/icy"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/adapters/stream/own"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/adapters/stream/twitcasting"
	"github.com/stream-monitor/stream-monitor/adapters/stream/twitch"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// sourcePackages has the package of each row of monitor.Sources.
var sourcePackages = map[monitor.SourceName]sourcePackage{
	monitor.YouTube:     {youtube.Source, youtube.Listers},
	monitor.Twitch:      {twitch.Source, twitch.Listers},
	monitor.TwitCasting: {twitcasting.Source, twitcasting.Listers},
	monitor.ICY:         {source: icy.Source},
	monitor.HLS:         {source: own.Source},
	monitor.DASH:        {source: own.Source},
}

// sourcePackage makes the adapters of a source: those of workers, and those that find the streams of its channels.
type sourcePackage struct {
	source  func(stream.Tools) worker.Source
	listers func(stream.Tools) []channels.Lister // in the order in which they are asked; nil: it has no channels
}

// resolvingTools holds what the workers of a process share to resolve streams.
type resolvingTools struct {
	proxies   *proxies.List
	egress    *proxies.Chooser  // nil: HTTP_PROXY and HTTPS_PROXY decide
	transport http.RoundTripper // of our own requests to sources
	audio     *media.Client     // of audio streams
	own       *media.Client     // of other streams of one's own
	forks     *ytdlp.ForkServer // nil: every question starts yt-dlp
	host      *fallback.Host    // nil: every question is asked at once
	uploads   channels.Lister   // nil: there is no key of the YouTube Data API
}

func newResolvingTools(f config.WatchingFlags, log *slog.Logger) resolvingTools {
	list, budget, set := f.Egress()
	r := resolvingTools{proxies: list, transport: http.DefaultTransport}
	if set {
		r.egress = proxies.NewChooser(list, budget, log)
		r.transport = &http.Transport{Proxy: list.Proxy, IdleConnTimeout: time.Minute}
	}
	r.audio = media.New(media.Config{
		ICY: true, Stall: audioStall, MinRate: 100, Proxy: list.Proxy,
		AllowedNetworks: f.MediaNetworks(), AllowedBy: "MEDIA_ALLOWED_NETWORKS",
	})
	r.own = media.New(media.Config{
		IdleConns: sharedConns, Proxy: list.Proxy,
		AllowedNetworks: f.MediaNetworks(), AllowedBy: "MEDIA_ALLOWED_NETWORKS",
	})
	return r
}

// manifestReader makes a reader of HLS and DASH that gets what it needs so.
func manifestReader(from stream.Getter) *manifest.Reader {
	return manifest.NewReader(from.Get, hls.Format{}, dash.Format{TimeServers: dash.NewTimeServers(from.Get, from.Head)})
}

// audioStall is how long an audio stream may send nothing before its request is given up.
const audioStall = 15 * time.Second

// tools are what the packages of sources make their adapters of.
func (r resolvingTools) tools(f config.WatchingFlags, log *slog.Logger) stream.Tools {
	var egress fallback.Egress
	if r.egress != nil {
		egress = r.egress
	}
	newYTDLP := func(s stream.Site) *ytdlp.Resolver {
		return ytdlp.New(ytdlp.Config{Site: s, Path: f.YTDLP().Path, Files: f.ReadableFiles(), ForkServer: r.forks, JSRuntime: f.YTDLPJSRuntime, Environ: r.proxies.Environ}, log)
	}
	newStreamlink := func(s stream.Site) *streamlink.Resolver {
		return streamlink.New(streamlink.Config{Site: s, Path: f.Streamlink().Path, Files: f.ReadableFiles(), Environ: r.proxies.Environ}, log)
	}
	return stream.Tools{
		Choices:    stream.Choices{PlayerClients: f.YTDLPClients, POTokenURL: f.YTDLPPOTokenURL, JSRuntime: f.YTDLPJSRuntime},
		Client:     &http.Client{Transport: r.transport},
		Endless:    r.audio.Open,
		Own:        r.own,
		Manifests:  func(from stream.Getter) worker.PlaylistReader { return manifestReader(from) },
		YTDLP:      func(s stream.Site) worker.Resolver { return newYTDLP(s) },
		Streamlink: func(s stream.Site) worker.Resolver { return newStreamlink(s) },
		InOrder: func(primary, secondary worker.Resolver) worker.Resolver {
			return fallback.NewResolver(primary, secondary, egress, r.host, log)
		},
		YTDLPLister: func(s stream.Site) channels.Lister { return fallback.NewLister(ytdlp.Source, newYTDLP(s), r.host, log) },
		StreamlinkLister: func(s stream.Site) channels.Lister {
			return fallback.NewLister(streamlink.Source, newStreamlink(s), r.host, log)
		},
		Guarded: func(name string, l channels.Lister) channels.Lister { return fallback.NewLister(name, l, nil, log) },
		Uploads: r.uploads,
	}
}

// sources makes the adapters of every source. log should carry the monitor's id.
func (r resolvingTools) sources(f config.WatchingFlags, log *slog.Logger) worker.Sources {
	all := worker.Sources{}
	for name, p := range sourcePackages {
		source := p.source(r.tools(f, log))
		if source.Prober != nil && r.egress != nil {
			source.Prober = r.egress.Prober(source.Prober)
		}
		all[name] = source
	}
	return all
}

// listers makes the listers of every source that has channels, each in the order in which they are asked. A question
// leaves through the egress address of its context.
func (r resolvingTools) listers(f config.WatchingFlags, log *slog.Logger) map[monitor.SourceName][]channels.Lister {
	all := map[monitor.SourceName][]channels.Lister{}
	for name, p := range sourcePackages {
		if p.listers != nil {
			all[name] = p.listers(r.tools(f, log.With("source", name)))
		}
	}
	return all
}
