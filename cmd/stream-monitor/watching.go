package main

import (
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"strings"
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
)

// ports is what a stream is watched with; gateway is where that is reported.
// The proxies count for the tools, the playlists and the segments alike
// (decision O8): media URLs are bound to the address they were issued to.
func (f WatchingFlags) ports(gateway worker.Gateway, log *slog.Logger) worker.Ports {
	f.export()
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

// variables are these settings as the environment of a worker, whether they
// came as flags or as variables; an empty one counts as unset.
func (f WatchingFlags) variables() (env []string) {
	settings := reflect.ValueOf(f)
	for i := range settings.NumField() {
		names := settings.Type().Field(i).Tag.Get("env")
		for name := range strings.SplitSeq(names, ",") {
			env = append(env, name+"="+settings.Field(i).String())
		}
	}
	return env
}

// settings are those of them that are given, under one name each, and the time
// zone (decision A11): for a worker in a pod, which inherits nothing.
func (f WatchingFlags) settings() (env []string) {
	fields := reflect.ValueOf(f)
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("env"), ",")
		if value := fields.Field(i).String(); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if zone := os.Getenv("TZ"); zone != "" {
		env = append(env, "TZ="+zone)
	}
	return env
}

// export makes these settings what every child and every client of this process
// finds in its environment.
func (f WatchingFlags) export() {
	for _, variable := range f.variables() {
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value) // fails only on names and values that cannot be in an environment
		if value == "" {
			_ = os.Unsetenv(name) // tools differ in what an empty one means to them
		}
	}
}

// newEventID makes the id of an event (decision W2).
func newEventID() string { return uuid.Must(uuid.NewV7()).String() }
