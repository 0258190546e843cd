package main

import (
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/adapters/stream/oembed"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// workerPorts wires a worker to the tools and to its gateway. Tools, playlists and
// segments use the same proxies (decision O8): media URLs are bound to the address
// to which they were issued. What they log names the monitor.
func workerPorts(f config.WatchingFlags, gateway worker.Gateway, id monitor.ID, log *slog.Logger) worker.Ports {
	f.Export()
	log = log.With("monitor_id", string(id))
	client := media.New(media.Config{})
	sources := worker.Sources{
		monitor.YouTube: {
			Resolver: fallback.NewResolver(
				ytdlp.New(ytdlp.Config{Path: f.YTDLP().Path}, log),
				streamlink.New(streamlink.Config{Path: f.Streamlink().Path}, log),
				log,
			),
			Prober: oembed.New(&http.Client{}),
		},
	}
	return worker.Ports{
		Gateway:   gateway,
		Resolver:  sources,
		Prober:    sources,
		Playlists: manifest.NewReader(client.Get, hls.Format{}, dash.Format{}),
		Segments:  client,
		Analyser:  ffmpeg.New(ffmpeg.Config{Path: f.FFmpeg().Path}),
	}
}

// newEventID makes the id of an event (decision W2).
func newEventID() string { return uuid.Must(uuid.NewV7()).String() }
