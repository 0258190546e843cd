package main

import (
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/adapters/tempfile"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// sharedConns is how many idle connections to media hosts a process keeps for its workers.
// Most streams share the hosts of their playlists, so a worker finds one that another has
// opened. At a check every 10 s, a thousand streams make some dozen requests at once.
const sharedConns = 256

// keptMemory is how many bytes of segments all workers of a process keep for captures. It is
// enough for 256 workers with 1 MiB each.
const keptMemory = 256 << 20

// watchingTools are the adapters that all workers of a process share.
type watchingTools struct {
	flags     config.WatchingFlags
	media     *media.Client
	playlists *manifest.Reader
	decoders  *decoder.Pool
	capturer  *ffmpeg.Capturer
	budget    *tempfile.Budget
	memory    *collector.Memory
	resolving resolvingTools
}

// newDecoderPool returns a pool of processes of segment-decoder, one for each core if
// processes is 0; or nil, if the program was not found or is switched off. Close ends it.
func newDecoderPool(f config.WatchingFlags, processes int, log *slog.Logger) *decoder.Pool {
	tool, used := f.Decoder()
	if !used {
		return nil
	}
	if tool.FoundBy == "" {
		log.Info("segment-decoder was not found; ffmpeg analyses every segment, which takes more CPU time and measures nothing for the optional detectors")
		return nil
	}
	return decoder.New(decoder.Config{Path: tool.Path, Files: f.ReadableFiles(), Processes: processes}, log)
}

// prepareTools sets what tools need in the environment of this process. Error: none can be started.
func prepareTools(f config.WatchingFlags) error {
	f.Export()
	if err := tool.CheckLauncher(); err != nil {
		return &config.UsageError{Problems: []string{err.Error() + `; put it beside stream-monitor ("make build" does), or set LAUNCHER_PATH`}}
	}
	return nil
}

// warnOfMissingConfinement logs what tools can do here because the kernel, or a sandbox around
// this process, does not let it confine them.
func warnOfMissingConfinement(f config.WatchingFlags, log *slog.Logger) {
	if missing := tool.Missing(); f.ReadableFiles() != nil && len(missing) > 0 {
		log.Warn("tools are not completely confined here, which helps a hostile stream that takes one over: run doctor, which says what to do", "missing", strings.Join(missing, "; "))
	}
}

// newWatchingTools makes the adapters. With a nil pool ffmpeg decodes every segment.
func newWatchingTools(f config.WatchingFlags, pool *decoder.Pool, resolving resolvingTools) *watchingTools {
	client := media.New(media.Config{IdleConns: sharedConns, Proxy: resolving.proxies.Proxy})
	return &watchingTools{
		flags:     f,
		resolving: resolving,
		media:     client,
		playlists: manifestReader(client),
		decoders:  pool,
		capturer:  ffmpeg.NewCapturer(ffmpeg.Config{Path: f.FFmpeg().Path, Files: f.ReadableFiles()}),
		budget:    tempfile.NewBudget(f.BudgetMiB()),
		memory:    collector.NewMemory(keptMemory),
	}
}

// ports wires a worker to the tools and to its gateway. With a nil evidence, or with
// EVIDENCE_CAPTURE=off, it captures none. Tools, playlists and segments use the same proxies
// (decision O8): media URLs are bound to the address to which they were issued. Every log
// line names the monitor.
func (t *watchingTools) ports(gateway worker.Gateway, evidence collector.Store, thumbnails worker.ThumbnailStore, id monitor.ID, log *slog.Logger) worker.Ports {
	if t.flags.EvidenceCapture == "off" {
		evidence = nil
	}
	monitorLog := log.With("monitor_id", string(id))
	sources := t.resolving.sources(t.flags, monitorLog)
	return worker.Ports{
		Gateway:    gateway,
		Resolver:   sources,
		Prober:     sources,
		Media:      sources.Media,
		Playlists:  t.playlists,
		Segments:   t.media,
		Analyser:   ffmpeg.New(ffmpeg.Config{Path: t.flags.FFmpeg().Path, Files: t.flags.ReadableFiles(), Decoder: t.decoders.Stream(monitorLog)}),
		Thumbnails: worker.ThumbnailPorts{Maker: t.capturer, Store: thumbnails},
		Evidence: collector.Ports{
			Tools: t.capturer, Segments: t.media, Playlists: t.playlists, Store: evidence, Memory: t.memory,
			TempFile: func() (collector.TempFile, error) { return t.budget.New() },
		},
	}
}

// newEventID makes the id of an event (decision W2).
func newEventID() string { return uuid.Must(uuid.NewV7()).String() }
