package main

import (
	"context"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/doctor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// versionsKept is how long the versions of tools are not asked again.
const versionsKept = 10 * time.Minute

// serviceInfo describes this gateway (section 17.4).
func (g *gatewayServer) serviceInfo() *httpapi.ServiceInfo {
	c := g.settings
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	return &httpapi.ServiceInfo{
		Version:       version,
		WorkerRuntime: c.WorkerRuntime,
		Limits: httpapi.ServiceLimits{
			MaxMonitors: c.MaxMonitors, CreatePerMin: c.RateLimitCreatePerMin, QueryPerMin: c.RateLimitQueryPerMin, ScheduleLeadSec: seconds(c.ScheduleLeadTime),
		},
		Retention: httpapi.ServiceRetention{
			EventsSec: seconds(c.EventRetention), HistorySec: seconds(c.HistoryRetention), FeedSec: seconds(c.FeedRetention),
			EvidenceSec: seconds(c.EvidenceRetention), EvidenceQuarantineSec: seconds(c.EvidenceQuarantineRetention),
		},
		Egress: g.egress,
		BlindSpot: func(ctx context.Context) *monitor.BlindSpot {
			checker, err := g.store.ReadChecker(ctx)
			if err != nil {
				return nil
			}
			return checker.BlindSpot
		},
		YouTubeAPI: g.youTubeAPI,
		TwitchAPI:  g.twitchAPI,
		EventSub:   g.eventSub,
		Tools:      (&toolVersions{watching: c.Watching}).read,
	}
}

// toolVersions asks the tools for their versions, at most once in versionsKept.
type toolVersions struct {
	watching config.WatchingFlags

	mu    sync.Mutex
	known map[string]httpapi.ToolInfo
	at    time.Time
}

// describeVersion tells the version of a tool, and its age if the version says it.
func describeVersion(version string, now time.Time) httpapi.ToolInfo {
	info := httpapi.ToolInfo{Version: &version}
	if age, known := doctor.Age(version, now); known {
		info.AgeDays, info.Outdated = new(int(age/(24*time.Hour))), age >= doctor.MaxAge
	}
	return info
}

func (v *toolVersions) read(ctx context.Context) map[string]httpapi.ToolInfo {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known != nil && time.Since(v.at) < versionsKept {
		return v.known
	}
	type asked struct {
		name, argument string
		tool           config.Tool
	}
	tools := []asked{
		{"yt-dlp", "--version", v.watching.YTDLP()},
		{"streamlink", "--version", v.watching.Streamlink()},
		{"ffmpeg", "-version", v.watching.FFmpeg()},
	}
	if decoder, is := v.watching.Decoder(); is {
		tools = append(tools, asked{"segment-decoder", "--version", decoder})
	}
	answers := make([]httpapi.ToolInfo, len(tools))
	var asking sync.WaitGroup
	for i, t := range tools {
		asking.Go(func() {
			if found, err := doctor.Version(ctx, t.tool, t.argument); err != nil {
				answers[i].Error = new(err.Error())
			} else {
				answers[i] = describeVersion(found, time.Now())
			}
		})
	}
	asking.Wait()
	known := map[string]httpapi.ToolInfo{}
	for i, t := range tools {
		known[t.name] = answers[i]
	}
	if ctx.Err() == nil {
		v.known, v.at = known, time.Now()
	}
	return known
}
