package ytdlp

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pytool"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source is the Resolution's Source.
const Source = "yt-dlp"

// MaxOutput is the most that is read of a run's stdout, and of its stderr. The
// answer for an ordinary video with captions in every language is about 1 MB.
const MaxOutput = 8 << 20

// Config is how to run yt-dlp. The zero value is usable.
type Config struct {
	Path          string        // YTDLP_PATH; default "yt-dlp", looked up in PATH
	Timeout       time.Duration // of a whole run, default 45 s
	SocketTimeout time.Duration // of each connection within it, whole seconds, default 10 s
}

// Resolver is a worker.Resolver. It keeps nothing between calls and may be
// used concurrently.
type Resolver struct {
	tool    pytool.Tool
	options []string
	log     *slog.Logger
}

// New makes a Resolver.
func New(c Config, log *slog.Logger) *Resolver {
	if c.Path == "" {
		c.Path = "yt-dlp"
	}
	if c.Timeout <= 0 {
		c.Timeout = 45 * time.Second
	}
	if c.SocketTimeout < time.Second {
		c.SocketTimeout = 10 * time.Second
	}
	return &Resolver{
		tool: pytool.Tool{
			Name: Source, Path: c.Path, Timeout: c.Timeout, MaxOutput: MaxOutput,
			Install: `install it with pip install "yt-dlp[default]", or set YTDLP_PATH`,
		},
		options: []string{
			"--ignore-config", "--dump-json", "--ignore-no-formats-error", "--no-playlist",
			"--socket-timeout", strconv.Itoa(int(c.SocketTimeout / time.Second)),
			"--extractor-retries", "1",
			// What follows is a URL, whatever it begins with.
			"--",
		},
		log: log.With("component", "yt-dlp"),
	}
}

// Resolve implements worker.Resolver. It runs yt-dlp once and blocks until it
// has ended, at most Timeout and two seconds.
func (r *Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	began := time.Now()
	res, trouble := r.tool.Ask(ctx, r.log, slices.Concat(r.options, []string{string(url)})...)
	answer := watch.Resolution{}
	if trouble != nil {
		answer.State, answer.Detail = trouble.State, trouble.Detail
	} else {
		answer = read(url.VideoID(), res.Stdout, res.Stderr)
	}
	answer.Began, answer.Source = began, Source
	return answer
}
