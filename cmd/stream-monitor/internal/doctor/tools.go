package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// The oldest versions of section 13.1, and the oldest yt-dlp that works with
// YouTube today: playlists from older ones have segments that answer 403.
const (
	ytdlpFloor      = "2025.01.15"
	ytdlpToday      = "2026.01.29"
	streamlinkFloor = "7.1.0"
	ffmpegFloor     = "7.1"
)

var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+`)

// ytdlp checks yt-dlp and what it needs to solve YouTube's challenges.
func (d Doctor) ytdlp(ctx context.Context) []finding {
	const subject = "yt-dlp"
	expected := fmt.Sprintf("%s or newer", ytdlpToday)
	advice := `run "make tools", or: pip install --upgrade "yt-dlp[default]"; or set YTDLP_PATH`
	t := d.Settings.Watching.YTDLP()
	answer, err := runTool(ctx, t, "--ignore-config", "--version")
	if err != nil {
		return []finding{missing(subject, fail, t, err, expected, advice)}
	}
	version := firstLine(answer)
	if !plainVersion.MatchString(version) {
		return []finding{{subject, fail, fmt.Sprintf("%s answers %.60q for its version", t.Path, version), expected, advice}}
	}
	f := finding{subject, fine, described(version, t), expected, advice}
	switch r := readRelease(version); {
	case r.before(ytdlpFloor):
		f.verdict = fail
	case r.before(ytdlpToday):
		f.verdict = warn
	}
	return append([]finding{f}, d.solver(ctx, t)...)
}

var (
	runtimesLine  = regexp.MustCompile(`(?m)^\[debug\] JS runtimes: (.*)$`)
	librariesLine = regexp.MustCompile(`(?m)^\[debug\] Optional libraries: (.*)$`)
	solverScripts = regexp.MustCompile(`yt_dlp_ejs-([0-9.]+)`)
)

// solver checks the JavaScript runtime and its scripts, as yt-dlp reports them.
func (d Doctor) solver(ctx context.Context, t config.Tool) []finding {
	runtime := finding{
		subject:  "JavaScript runtime",
		verdict:  warn,
		expected: "one that yt-dlp uses: deno 2.3 or newer",
		advice:   `run "make tools", or: pip install deno; without it YouTube offers fewer qualities, or none`,
	}
	scripts := finding{
		subject:  "yt-dlp-ejs",
		verdict:  warn,
		expected: "the challenge solver that belongs to yt-dlp",
		advice:   `run "make tools", or: pip install --upgrade "yt-dlp[default]"`,
	}
	answer, err := runTool(ctx, t, "--ignore-config", "--verbose")
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

// streamlink checks the fallback. Without it the watch works as long as yt-dlp does.
func (d Doctor) streamlink(ctx context.Context) []finding {
	const subject = "streamlink"
	expected := fmt.Sprintf("%s or newer; it finds the stream when yt-dlp fails", streamlinkFloor)
	advice := `run "make tools", or: pip install --upgrade streamlink; or set STREAMLINK_PATH`
	t := d.Settings.Watching.Streamlink()
	answer, err := runTool(ctx, t, "--no-config", "--version")
	if err != nil {
		return []finding{missing(subject, warn, t, err, expected, advice)}
	}
	version, ok := strings.CutPrefix(firstLine(answer), "streamlink ")
	f := finding{subject, fine, described(version, t), expected, advice}
	switch {
	case !ok:
		f.verdict, f.found = warn, fmt.Sprintf("%s answers %.60q for its version", t.Path, firstLine(answer))
	case readRelease(version).before(streamlinkFloor):
		f.verdict = warn
	}
	return []finding{f}
}

var (
	ffmpegVersion = regexp.MustCompile(`^ffmpeg version (\S+)`)
	ffmpegNumber  = regexp.MustCompile(`^n?([0-9]+\.[0-9.]+)`)
)

func (d Doctor) ffmpeg(ctx context.Context) []finding {
	const subject = "ffmpeg"
	expected := ffmpegFloor + " or newer"
	advice := `run "make tools", or: apt-get install ffmpeg; or set FFMPEG_PATH`
	t := d.Settings.Watching.FFmpeg()
	answer, err := runTool(ctx, t, "-version")
	if err != nil {
		return []finding{missing(subject, fail, t, err, expected, advice)}
	}
	m := ffmpegVersion.FindStringSubmatch(firstLine(answer))
	if m == nil {
		return []finding{{subject, fail, fmt.Sprintf("%s answers %.60q for its version", t.Path, firstLine(answer)), expected, advice}}
	}
	f := finding{subject, fine, described(m[1], t), expected, advice}
	number := ffmpegNumber.FindStringSubmatch(m[1])
	switch {
	case number == nil:
		f.verdict, f.advice = warn, "check that it is 7.1 or newer: this build states no version number"
	case readRelease(number[1]).before(ffmpegFloor):
		f.verdict, f.advice = warn, "nothing for now: 5.1 is known to work; upgrade when your system does"
	}
	filters, err := runTool(ctx, t, "-hide_banner", "-filters")
	for _, name := range ffmpeg.Filters() {
		if err != nil || !strings.Contains(filters, " "+name+" ") {
			return []finding{{subject, fail, f.found + ", without the filter " + name, "a build with " + strings.Join(ffmpeg.Filters(), " and "), advice}}
		}
	}
	return []finding{f}
}
