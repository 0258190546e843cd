package streamlink

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Source is the Source of every Resolution.
const Source = "streamlink"

// Limits on streamlink's output.
const (
	MaxOutput = 256 << 10 // bytes of stdout, and of stderr; a list of streams has a URL and headers for each quality
	MaxURL    = 8 << 10   // bytes of the manifest's URL
)

// MaxMemory limits the memory that streamlink may allocate, in bytes. It needs 60 MB.
const MaxMemory = 256 << 20

// httpTimeout limits each request, in seconds.
const httpTimeout = "10"

// Config configures the runs of streamlink. Only Site has no default.
type Config struct {
	Site    pythontool.Site
	Path    string        // STREAMLINK_PATH; default "streamlink", looked up in PATH
	Timeout time.Duration // limit of a run; default 30 s
	Files   []string      // further files and folders that the tool may read; nil: it is not confined (Linux only)

	Environ func(context.Context) []string // environment of one run; nil, or its result nil: subprocess.Environment()
}

// Resolver is a worker.Resolver. It keeps no state between calls and may be used
// concurrently.
type Resolver struct {
	tool    pythontool.Tool
	options []string
	log     *slog.Logger
}

// New makes a Resolver.
func New(c Config, log *slog.Logger) *Resolver {
	if c.Path == "" {
		c.Path = "streamlink"
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	prints := "--stream-url"
	if c.Site.MediaHeaders {
		prints = "--json"
	}
	return &Resolver{
		tool: pythontool.Tool{
			Name: Source, Site: c.Site, Path: c.Path, Timeout: c.Timeout, MaxOutput: MaxOutput, MaxMemory: MaxMemory, Environ: c.Environ, Files: c.Files,
			Install: "install it with pip install streamlink, or set STREAMLINK_PATH",
		},
		options: []string{
			"--no-config", "--http-timeout", httpTimeout, prints,
			// "--" keeps a URL from being parsed as an option.
			"--",
		},
		log: log.With("component", "streamlink"),
	}
}

// Resolve implements worker.Resolver. It runs streamlink once and blocks for at most
// Timeout plus two seconds.
func (r *Resolver) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	res, failure := r.tool.Run(ctx, r.log, slices.Concat(r.options, []string{string(url)})...)
	answer := watch.Resolution{}
	if failure != nil {
		answer.State, answer.Detail = failure.State, failure.Detail
	} else {
		answer = read(r.tool.Site, res)
	}
	answer.Source = Source
	return answer
}

// List returns the live broadcast of a place. The error is a *channel.Failure.
func (r *Resolver) List(ctx context.Context, address string) (channel.Listing, error) {
	place := monitor.StreamURL(address)
	return channel.ListingOf(place, r.Resolve(ctx, place))
}

// read turns the output of a run into a Resolution. A success prints one line with a
// URL, a failure "error: …", both on stdout. Usage errors and crashes are on stderr.
func read(site pythontool.Site, res subprocess.Result) watch.Resolution {
	out := strings.TrimSpace(string(res.Stdout))
	if strings.HasPrefix(out, "{") {
		answer, problem := readList(site, res.Stdout)
		if problem == "" && res.ExitCode == 0 {
			return answer
		}
		out, res.Stdout = "error: "+cmp.Or(problem, "it failed after it had listed streams"), nil // the list may have cookies
	}
	if isManifestURL(out) && res.ExitCode == 0 {
		return watch.Resolution{State: watch.ManifestFound, Manifest: out, Expires: pythontool.Expiry(out)}
	}
	if message, ok := strings.CutPrefix(out, "error: "); ok {
		if d := site.Diagnose(message); d.State != "" {
			return watch.Resolution{State: d.State, Detail: d.Detail(message)}
		}
		return watch.Resolution{State: watch.Unreachable, Detail: pythontool.OneLine(message)}
	}
	problem := "streamlink printed no URL"
	for _, output := range [][]byte{res.Stdout, res.Stderr} {
		if last := pythontool.LastLine(output); last != "" {
			problem = "streamlink printed no URL: " + last
		}
	}
	if strings.Contains(problem, "unrecognized arguments") {
		problem = "streamlink is too old for the options it is given; update it (pip install -U streamlink): " + problem
	}
	return watch.Resolution{State: watch.ToolFailed, Detail: pythontool.OneLine(problem)}
}

// streamList is what streamlink prints with --json.
type streamList struct {
	Streams map[string]struct {
		URL     string            `json:"url"`
		Master  string            `json:"master"`
		Headers map[string]string `json:"headers"` // of a request for URL, with its cookies
	} `json:"streams"`
	Metadata struct {
		ID json.RawMessage `json:"id"` // text or a number; see Site.Place
	} `json:"metadata"`
	Error string `json:"error"`
}

// readList reads what streamlink prints with --json, or says why there is no manifest. All streams of a manifest have the
// same master and headers.
func readList(site pythontool.Site, stdout []byte) (answer watch.Resolution, problem string) {
	var list streamList
	if err := json.Unmarshal(stdout, &list); err != nil {
		return answer, "its list of streams cannot be read"
	}
	for _, name := range slices.Sorted(maps.Keys(list.Streams)) {
		s := list.Streams[name]
		if manifest := cmp.Or(s.Master, s.URL); isManifestURL(manifest) {
			answer = watch.Resolution{
				State: watch.ManifestFound, Manifest: manifest, Expires: pythontool.Expiry(manifest),
				Header: watch.NewRequestHeader(s.Headers, nil, []string{s.Master, s.URL}),
			}
			if id := strings.Trim(string(list.Metadata.ID), `"`); site.Place && id != "null" {
				answer.Broadcast = monitor.CleanLine(id)
			}
			return answer, ""
		}
	}
	return answer, cmp.Or(list.Error, "no stream has a URL of its own")
}

func isManifestURL(s string) bool {
	if len(s) > MaxURL || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
