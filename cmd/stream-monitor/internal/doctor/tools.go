package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// The minimum versions of section 13.1. ytdlpWorking is the oldest yt-dlp that works with
// YouTube at present: with older ones, YouTube answers requests for segments with 403.
const (
	ytdlpRequired      = "2025.01.15"
	ytdlpWorking       = "2026.01.29"
	streamlinkRequired = "8.6.0" // older ones follow a redirect to a file of this machine (GHSA-vf2x-4v53-pm7v)
	ffmpegRequired     = "7.1"
)

var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+`)

// toolsCheck checks the tools that find and decode streams.
type toolsCheck struct {
	settings config.Doctor
	now      time.Time
}

func (c toolsCheck) run(ctx context.Context) []finding {
	return slices.Concat(c.ytdlp(ctx), c.streamlink(ctx), c.ffmpeg(ctx), c.decoder(ctx))
}

// confined returns what a tool may reach when streams are watched.
func (c toolsCheck) confined(network bool) tool.Confinement {
	return tool.Confinement{Files: c.settings.Watching.ReadableFiles(), Network: network}
}

// ytdlp checks yt-dlp and what it needs to solve YouTube's challenges.
func (c toolsCheck) ytdlp(ctx context.Context) []finding {
	const subject = "yt-dlp"
	expected := fmt.Sprintf("%s or newer, and less than %d days old, because sources change", ytdlpWorking, days(MaxAge))
	advice := `run "make tools", or: pip install --upgrade "yt-dlp[default]"; or set YTDLP_PATH, which may name a newer one at any time`
	t := c.settings.Watching.YTDLP()
	answer, err := runTool(ctx, c.confined(true), t.Path, "--ignore-config", "--version")
	if err != nil {
		return []finding{toolMissing(subject, fail, t, err, expected, advice)}
	}
	version := firstLine(answer)
	if !plainVersion.MatchString(version) {
		return []finding{{subject, fail, fmt.Sprintf("%s answers %.60q for its version", t.Path, version), expected, advice}}
	}
	f := finding{subject, fine, describeTool(version, t), expected, advice}
	age, dated := Age(version, c.now)
	if dated {
		f.found += fmt.Sprintf(", %d days old", days(age))
	}
	switch r := parseVersion(version); {
	case r.before(ytdlpRequired):
		f.verdict = fail
	case r.before(ytdlpWorking), age >= MaxAge:
		f.verdict = warn
	}
	findings := append([]finding{f}, c.challengeSolver(ctx, t)...)
	if c.settings.WorkerRuntime == config.RuntimeInline {
		findings = append(findings, c.forkServer(ctx, t))
	}
	return findings
}

// forkServer checks whether one process can load yt-dlp for the questions of all inline
// workers. Without it every question starts yt-dlp.
func (c toolsCheck) forkServer(ctx context.Context, t config.Tool) finding {
	limited, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	forks := ytdlp.NewForkServer(t.Path, c.settings.Watching.ReadableFiles(), slog.New(slog.DiscardHandler))
	defer forks.Close()
	f := finding{
		"yt-dlp forks", fine, "one process loads yt-dlp for all questions",
		"a yt-dlp that is a Python script", `every question starts yt-dlp, for four times the CPU; run "make tools", or: pip install "yt-dlp[default]"`,
	}
	if err := forks.Check(limited); err != nil {
		f.verdict, f.found = warn, err.Error()
	}
	return f
}

var (
	runtimesLine  = regexp.MustCompile(`(?m)^\[debug\] JS runtimes: (.*)$`)
	librariesLine = regexp.MustCompile(`(?m)^\[debug\] Optional libraries: (.*)$`)
	solverScripts = regexp.MustCompile(`yt_dlp_ejs-([0-9.]+)`)
)

// challengeSolver checks the JavaScript runtime and the scripts with which yt-dlp solves
// YouTube's challenges, as yt-dlp reports them.
func (c toolsCheck) challengeSolver(ctx context.Context, t config.Tool) []finding {
	runtime := finding{
		subject:  "JavaScript runtime",
		verdict:  warn,
		expected: "one that yt-dlp uses: deno 2.3 or newer, or that of YTDLP_JS_RUNTIME",
		advice:   `run "make tools", or: pip install deno, or set YTDLP_JS_RUNTIME; without it YouTube offers fewer qualities, or none`,
	}
	scripts := finding{
		subject:  "yt-dlp-ejs",
		verdict:  warn,
		expected: "the challenge solver that belongs to yt-dlp",
		advice:   `run "make tools", or: pip install --upgrade "yt-dlp[default]"`,
	}
	options := append([]string{"--ignore-config", "--verbose"}, ytdlp.RuntimeOptions(c.settings.Watching.YTDLPJSRuntime)...)
	answer, err := runTool(ctx, c.confined(true), t.Path, options...)
	if err != nil {
		runtime.found, scripts.found = "unknown: yt-dlp "+err.Error(), "unknown: yt-dlp "+err.Error()
		return []finding{runtime, scripts}
	}
	runtime.found = "none"
	if m := runtimesLine.FindStringSubmatch(answer); m != nil {
		runtime.found = m[1]
		for one := range strings.SplitSeq(m[1], ", ") {
			if one != "none" && !strings.Contains(one, "unsupported") {
				runtime.verdict = fine
			}
		}
	}
	scripts.found = "none"
	if m := librariesLine.FindStringSubmatch(answer); m != nil {
		if m := solverScripts.FindStringSubmatch(m[1]); m != nil {
			scripts.verdict, scripts.found = fine, m[1]
		}
	}
	return []finding{runtime, scripts}
}

// streamlink checks the fallback for yt-dlp. It is not required while yt-dlp works.
func (c toolsCheck) streamlink(ctx context.Context) []finding {
	const subject = "streamlink"
	expected := fmt.Sprintf("%s or newer, which finds the stream when yt-dlp fails; older ones let a hostile stream read files of this machine", streamlinkRequired)
	advice := `run "make tools", or: pip install --upgrade streamlink; or set STREAMLINK_PATH`
	t := c.settings.Watching.Streamlink()
	answer, err := runTool(ctx, c.confined(true), t.Path, "--no-config", "--version")
	if err != nil {
		return []finding{toolMissing(subject, warn, t, err, expected, advice)}
	}
	version, ok := strings.CutPrefix(firstLine(answer), "streamlink ")
	f := finding{subject, fine, describeTool(version, t), expected, advice}
	switch {
	case !ok:
		f.verdict, f.found = warn, fmt.Sprintf("%s answers %.60q for its version", t.Path, firstLine(answer))
	case parseVersion(version).before(streamlinkRequired):
		f.verdict = warn
	}
	return []finding{f}
}

// decoder checks segment-decoder. Without it ffmpeg finds black and silence, and most optional detectors know nothing.
func (c toolsCheck) decoder(ctx context.Context) []finding {
	const (
		subject  = "segment-decoder"
		expected = "the program of this version; without it ffmpeg decodes every segment, for more CPU time, and most optional detectors know nothing"
		advice   = `run "make tools", or put it beside stream-monitor; or set DECODER_PATH (off: do without it)`
	)
	t, is := c.settings.Watching.Decoder()
	if !is {
		return []finding{{subject: subject, verdict: fine, found: "off (DECODER_PATH): ffmpeg decodes every segment, and most optional detectors know nothing"}}
	}
	answer, err := runTool(ctx, c.confined(false), t.Path, "--version")
	if err != nil {
		return []finding{toolMissing(subject, warn, t, err, expected, advice)}
	}
	version, is := decoderVersion(answer)
	if !is || !strings.HasPrefix(version, "2 ") {
		return []finding{{subject, warn, fmt.Sprintf("%s answers %.60q for its version", t.Path, firstLine(answer)), expected, advice}}
	}
	return []finding{{subject, fine, describeTool(version, t), expected, advice}}
}

// decoderVersion returns the version that segment-decoder prints: the number of its protocol, and
// its libavcodec.
func decoderVersion(answer string) (version string, is bool) {
	return strings.CutPrefix(firstLine(answer), "segment-decoder ")
}

var (
	ffmpegVersion = regexp.MustCompile(`^ffmpeg version (\S+)`)
	ffmpegNumber  = regexp.MustCompile(`^n?([0-9]+\.[0-9.]+)`)
)

func (c toolsCheck) ffmpeg(ctx context.Context) []finding {
	const subject = "ffmpeg"
	expected := ffmpegRequired + " or newer"
	advice := `run "make tools", or: apt-get install ffmpeg; or set FFMPEG_PATH`
	t := c.settings.Watching.FFmpeg()
	answer, err := runTool(ctx, c.confined(false), t.Path, "-version")
	if err != nil {
		return []finding{toolMissing(subject, fail, t, err, expected, advice)}
	}
	m := ffmpegVersion.FindStringSubmatch(firstLine(answer))
	if m == nil {
		return []finding{{subject, fail, fmt.Sprintf("%s answers %.60q for its version", t.Path, firstLine(answer)), expected, advice}}
	}
	f := finding{subject, fine, describeTool(m[1], t), expected, advice}
	if tool.IsScript(t.Path) && c.settings.Watching.ReadableFiles() != nil {
		f.found += ", a script: it may start programs, and make system calls that ffmpeg itself may not"
	}
	number := ffmpegNumber.FindStringSubmatch(m[1])
	switch {
	case number == nil:
		f.verdict, f.advice = warn, "check that this build is version 7.1 or newer: it states no version number"
	case parseVersion(number[1]).before(ffmpegRequired):
		f.verdict, f.advice = warn, "upgrade with your next system upgrade; 5.1 is known to work"
	}
	filters, err := runTool(ctx, c.confined(false), t.Path, "-hide_banner", "-filters")
	for _, name := range ffmpeg.Filters() {
		if err != nil || !strings.Contains(filters, " "+name+" ") {
			return []finding{{subject, fail, f.found + ", without the filter " + name, "a build with " + strings.Join(ffmpeg.Filters(), " and "), advice}}
		}
	}
	return []finding{f}
}
