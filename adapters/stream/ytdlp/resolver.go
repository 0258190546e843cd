package ytdlp

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source is the Source of every Resolution.
const Source = "yt-dlp"

// MaxOutput limits stdout and stderr of a run, in bytes each. The output for an
// ordinary video with captions in every language is about 1 MB.
const MaxOutput = 8 << 20

// MaxMemory limits the memory that yt-dlp may allocate, and deno, which it starts, in bytes
// each. A question takes 60 to 150 MB, and deno 140 MB for a challenge of 3 MB.
const MaxMemory = 256 << 20

// Processes counts the processes of a run that may have MaxMemory each: yt-dlp and deno.
const Processes = 2

// Config configures the runs of yt-dlp. Only Site has no default.
type Config struct {
	Site          pythontool.Site
	Path          string        // YTDLP_PATH; default "yt-dlp", looked up in PATH
	Timeout       time.Duration // limit of Resolve; default 45 s
	SocketTimeout time.Duration // limit of each connection, in whole seconds; default 10 s
	MaxMemory     int64         // bytes that each process may allocate, Linux only; default MaxMemory
	Files         []string      // further files and folders that the tool may read; nil: it is not confined (Linux only)
	ForkServer    *ForkServer   // runs the yt-dlp at Path; nil: each run starts the command
	JSRuntime     string        // what runs JavaScript, NAME or NAME:PATH; empty: what yt-dlp finds

	Environ func(context.Context) []string // environment of one run; nil, or its result nil: subprocess.Environment()
}

// Resolver is a worker.Resolver. It keeps no state between calls and may be used
// concurrently.
type Resolver struct {
	tool   pythontool.Tool
	site   pythontool.Site
	common []string // options of every run
	log    *slog.Logger
}

// The options that select the output of a run. One that also lists DASH (Site.ListDASH) lists every
// segment of a live stream, up to 10 MB. That run therefore prints only the fields that are read.
var (
	dumpJSON      = []string{"--dump-json"}
	printWithDASH = []string{
		"--print", `{"id":%(id)j,"live_status":%(live_status|null)j,"is_live":%(is_live|null)j,"release_timestamp":%(release_timestamp|null)j,` +
			`"formats":%(formats.:.{url,manifest_url,protocol,height,tbr,vcodec,acodec,has_drm,language,language_preference,source_preference,http_headers,cookies})j}`,
	}
)

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
	r := &Resolver{
		tool: pythontool.Tool{
			Name: Source, Site: c.Site, Path: c.Path, Timeout: c.Timeout, MaxOutput: MaxOutput, MaxMemory: cmp.Or(c.MaxMemory, MaxMemory), Environ: c.Environ, Files: c.Files,
			Install: `install it with pip install "yt-dlp[default]", or set YTDLP_PATH`,
		},
		site: c.Site,
		common: slices.Concat([]string{
			"--ignore-config", "--ignore-no-formats-error", "--no-playlist",
			"--socket-timeout", strconv.Itoa(int(c.SocketTimeout / time.Second)),
			"--extractor-retries", "1",
		}, RuntimeOptions(c.JSRuntime), c.Site.Options),
		log: log.With("component", "yt-dlp"),
	}
	if c.ForkServer != nil {
		r.tool.Exec = c.ForkServer.Run
	}
	return r
}

// RuntimeOptions returns the options that choose what runs JavaScript, as Config.JSRuntime.
func RuntimeOptions(runtime string) []string {
	if runtime == "" {
		return nil
	}
	return []string{"--no-js-runtimes", "--js-runtimes", runtime}
}

// Resolve implements worker.Resolver. It runs yt-dlp once, and a second time for DASH
// when a live stream seems to have no media. It blocks for at most Timeout plus two
// seconds.
func (r *Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	began := time.Now()
	answer, conclusive := r.run(ctx, url, r.tool.Timeout, dumpJSON)
	if left := r.tool.Timeout - time.Since(began); !conclusive && left > 0 && r.site.ListDASH != nil {
		if second, _ := r.run(ctx, url, left, slices.Concat(r.site.ListDASH, printWithDASH)); second.Manifest != "" {
			second.Title, second.Channel = answer.Title, answer.Channel // it prints neither
			answer = second
		}
	}
	answer.Source = Source
	return answer
}

// run runs yt-dlp once. If the site rejects the cookies, and there are newer ones, it runs it once more.
func (r *Resolver) run(ctx context.Context, url monitor.StreamURL, limit time.Duration, prints []string) (answer watch.Resolution, conclusive bool) {
	began := time.Now()
	answer, conclusive, newer := r.runOnce(ctx, url, limit, prints)
	if left := limit - time.Since(began); newer && left > 0 {
		answer, conclusive, _ = r.runOnce(ctx, url, left, prints)
	}
	return answer, conclusive
}

// runOnce runs yt-dlp with the cookies of ctx, if it has a jar. newer reports that the site rejects them, and that newer ones are
// known by now. A run that was ended returns no cookies: it may have been writing them.
func (r *Resolver) runOnce(ctx context.Context, url monitor.StreamURL, limit time.Duration, prints []string) (answer watch.Resolution, conclusive, newer bool) {
	tool := r.tool
	tool.Timeout = limit
	cookies, jar := request.CookiesOf(ctx), cookie.Jar{}
	if cookies != nil {
		jar = cookies.Jar()
	}
	file, options, err := copyOf(jar)
	if err != nil {
		return watch.Resolution{State: watch.ToolFailed, Detail: "yt-dlp cannot get the cookies: " + err.Error()}, true, false
	}
	if file != nil {
		defer func() { _ = file.Close() }()
	}
	tool.File = file
	res, failure := tool.Run(ctx, r.log, slices.Concat(options, r.arguments(prints, url))...)
	if failure != nil {
		return watch.Resolution{State: failure.State, Detail: failure.Detail}, true, false
	}
	answer, conclusive = read(r.site, url.ID(), res.Stdout, res.Stderr)
	if cookies == nil {
		return answer, conclusive, false
	}
	if file == nil {
		return withoutLogin(answer, r.site.Title, jar.Name), conclusive, false
	}
	use := usedBy(answer, jar, file, res.Stderr)
	newer = cookies.Return(ctx, use) && use.Rejected
	if use.Rejected {
		answer = withoutLogin(answer, r.site.Title, jar.Name)
	}
	return answer, conclusive, newer
}

// arguments returns the arguments of a run, whether it is a command or a fork.
func (r *Resolver) arguments(prints []string, url monitor.StreamURL) []string {
	return slices.Concat(r.common, prints, []string{"--", string(url)}) // "--": a URL is never parsed as an option
}
