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
	"github.com/stream-monitor/stream-monitor/adapters/tempfile"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// workerPorts wires a worker to the tools and to its gateway. With a nil evidence, or with
// EVIDENCE_CAPTURE=off, it captures none. Tools, playlists and segments use the same proxies
// (decision O8): media URLs are bound to the address to which YouTube issued them. Every log
// line names the monitor.
func workerPorts(f config.WatchingFlags, gateway worker.Gateway, evidence collector.Store, thumbnails worker.ThumbnailStore, id monitor.ID, log *slog.Logger) worker.Ports {
	f.Export()
	if f.EvidenceCapture == "off" {
		evidence = nil
	}
	log = log.With("monitor_id", string(id))
	client := media.New(media.Config{})
	budget := tempfile.NewBudget(f.BudgetMiB())
	sources := newSources(f, log)
	playlists := manifest.NewReader(client.Get, hls.Format{}, dash.Format{})
	capturer := ffmpeg.NewCapturer(ffmpeg.Config{Path: f.FFmpeg().Path})
	return worker.Ports{
		Gateway:    gateway,
		Resolver:   sources,
		Prober:     sources,
		Playlists:  playlists,
		Segments:   client,
		Analyser:   ffmpeg.New(ffmpeg.Config{Path: f.FFmpeg().Path}),
		Thumbnails: worker.ThumbnailPorts{Maker: capturer, Store: thumbnails},
		Evidence: collector.Ports{
			Tools: capturer, Segments: client, Playlists: playlists, Store: evidence,
			TempFile: func() (collector.TempFile, error) { return budget.New() },
		},
	}
}

// newSources wires the tools that resolve streams.
func newSources(f config.WatchingFlags, log *slog.Logger) worker.Sources {
	return worker.Sources{
		monitor.YouTube: {
			Resolver: fallback.NewResolver(
				ytdlp.New(ytdlp.Config{Path: f.YTDLP().Path}, log),
				streamlink.New(streamlink.Config{Path: f.Streamlink().Path}, log),
				log,
			),
			Prober: oembed.New(&http.Client{}),
		},
	}
}

// newEventID makes the id of an event (decision W2).
func newEventID() string { return uuid.Must(uuid.NewV7()).String() }
