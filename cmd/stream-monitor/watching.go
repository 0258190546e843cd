package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/adapters/stream/oembed"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// workerPorts wires a worker to the tools and to its gateway. Tools, playlists and
// segments use the same proxies (decision O8): media URLs are bound to the address
// to which they were issued.
func workerPorts(f config.WatchingFlags, gateway worker.Gateway, log *slog.Logger) worker.Ports {
	f.Export()
	client := media.New(media.Config{})
	return worker.Ports{
		Gateway: gateway,
		Resolver: worker.NewFinder(
			ytdlp.New(ytdlp.Config{Path: f.YTDLP().Path}, log),
			streamlink.New(streamlink.Config{Path: f.Streamlink().Path}, log),
			time.Now, log,
		),
		Prober:    oembed.New(&http.Client{}),
		Playlists: worker.NewManifests(client.Get, time.Now, hls.Format{}, dash.Format{}),
		Segments:  client,
		Analyser:  ffmpeg.New(ffmpeg.Config{Path: f.FFmpeg().Path}),
	}
}

// newEventID makes the id of an event (decision W2).
func newEventID() string { return uuid.Must(uuid.NewV7()).String() }
