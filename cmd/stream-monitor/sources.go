package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// sourcePackages has the package of each row of monitor.Sources.
var sourcePackages = map[monitor.SourceName]func(stream.Tools) worker.Source{
	monitor.YouTube: youtube.Source,
}

// resolvingTools holds what the workers of a process share to resolve streams.
type resolvingTools struct {
	proxies *proxies.List
	egress  *proxies.Chooser  // nil: HTTP_PROXY and HTTPS_PROXY decide
	probes  http.RoundTripper // of the requests of probers
	forks   *ytdlp.ForkServer // nil: every question starts yt-dlp
	host    *fallback.Host    // nil: every question is asked at once
}

func newResolvingTools(f config.WatchingFlags, log *slog.Logger) resolvingTools {
	list, budget, set := f.Egress()
	r := resolvingTools{proxies: list, probes: http.DefaultTransport}
	if set {
		r.egress = proxies.NewChooser(list, budget, log)
		r.probes = &http.Transport{Proxy: list.Proxy, IdleConnTimeout: time.Minute}
	}
	return r
}

// sources makes the adapters of every source. log should carry the monitor's id.
func (r resolvingTools) sources(f config.WatchingFlags, log *slog.Logger) worker.Sources {
	var egress fallback.Egress
	if r.egress != nil {
		egress = r.egress
	}
	tools := stream.Tools{
		Client: &http.Client{Transport: r.probes},
		YTDLP: func(s stream.Site) worker.Resolver {
			return ytdlp.New(ytdlp.Config{Site: s, Path: f.YTDLP().Path, Files: f.ReadableFiles(), ForkServer: r.forks, Environ: r.proxies.Environ}, log)
		},
		Streamlink: func(s stream.Site) worker.Resolver {
			return streamlink.New(streamlink.Config{Site: s, Path: f.Streamlink().Path, Files: f.ReadableFiles(), Environ: r.proxies.Environ}, log)
		},
		InOrder: func(primary, secondary worker.Resolver) worker.Resolver {
			return fallback.NewResolver(primary, secondary, egress, r.host, log)
		},
	}
	all := worker.Sources{}
	for name, newSource := range sourcePackages {
		source := newSource(tools)
		if source.Prober != nil && r.egress != nil {
			source.Prober = r.egress.Prober(source.Prober)
		}
		all[name] = source
	}
	return all
}
