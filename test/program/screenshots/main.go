// Command screenshots takes the pictures of the README and of the documentation. A real
// gateway with its workers and tools watches streams of a fake YouTube, which show
// drawings, and Chromium shows its dashboard.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// limit is the longest that taking the pictures may take. It usually takes two minutes.
const limit = 10 * time.Minute

func main() {
	binary := flag.String("binary", "bin/stream-monitor", "the gateway, built with the dashboard")
	into := flag.String("into", "docs/images", "folder of the pictures")
	flag.Parse()
	if err := run(*binary, *into); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(binary, into string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	if into, err = filepath.Abs(into); err != nil {
		return err
	}
	set, err := testenv.Start(ctx, testenv.Config{Binary: binary})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	fmt.Println("the service listens at", set.Service.URL())
	media, err := os.MkdirTemp("", "stream-monitor-scenes-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(media)) }()
	scene, err := stage(ctx, set, media)
	if err != nil {
		return err
	}
	return takePictures(ctx, set, scene, into)
}

// takePictures lets Chromium visit the pages.
func takePictures(ctx context.Context, set *testenv.Env, s scene, into string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", `exec node "$@"`, "sh", "test/pictures.mjs", set.Service.URL(), into)
	cmd.Dir = "adapters/httpapi/ui"
	// "make tools" puts a Node.js there where the system has none.
	node, err := filepath.Abs(".tools/node/bin")
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+node,
		"API_KEY="+system.APIKey, "MONITOR="+s.Monitor, "INCIDENT="+s.Incident,
		"PREVIEW_URL="+set.YouTube.URL(s.upcoming), "CALLBACK_URL="+set.Receiver.URL(),
	)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// scene is what the pictures show.
type scene struct {
	Monitor  string // that went black and recovered
	Incident string // an open one: the picture is black
	upcoming string // a video that nobody watches yet
}

// The channels to which something happens.
const (
	silent    = 0
	recovered = 2
	black     = 3
)

var channels = []struct{ scene, channel, title string }{
	{"news", "Northline News 24", "Evening briefing: storm approaches the coast"},
	{"stage", "水無月ましろ Ch.", "【歌枠】まったり歌います"},
	{"harbour", "Harbour Camera", "Live view of the harbour entrance"},
	{"launch", "Orbit Live", "Launch day: second attempt"},
	{"piano", "Piano at Night", "Nocturnes until midnight"},
	{"city", "قناة المدينة", "بث مباشر من وسط المدينة"},
}

// settled is how long all streams are good before the first trouble, so that the
// pictures before it and the lanes show something.
const settled = 20 * time.Second

// stage registers the streams and lets things happen to them. It keeps their media in dir.
func stage(ctx context.Context, set *testenv.Env, dir string) (s scene, err error) {
	streams, monitors, err := broadcast(ctx, set, dir)
	if err != nil {
		return s, err
	}
	if s.upcoming, err = schedule(ctx, set); err != nil {
		return s, err
	}
	wait := func(of int, event string) {
		if err == nil {
			_, err = set.WaitEvent(ctx, monitors[of], event)
		}
	}
	for i := range channels {
		wait(i, "stream.started")
	}
	select {
	case <-ctx.Done():
		return s, ctx.Err()
	case <-time.After(settled):
	}
	streams[recovered].Black(true)
	wait(recovered, "alert.blackout")
	streams[recovered].Black(false)
	streams[silent].Silence(true)
	streams[black].Black(true)
	wait(recovered, "alert.blackout_recovered")
	wait(silent, "alert.silence")
	wait(black, "alert.blackout")
	if err != nil {
		return s, err
	}
	s.Monitor = monitors[recovered]
	if s.Incident, err = openIncident(ctx, set, monitors[black]); err != nil {
		return s, err
	}
	handled, err := openIncident(ctx, set, monitors[silent])
	if err != nil {
		return s, err
	}
	return s, errors.Join(handle(ctx, set, handled), waitClip(ctx, set, s.Incident), waitClip(ctx, set, handled))
}

// broadcast starts a stream for each channel, and its monitor.
func broadcast(ctx context.Context, set *testenv.Env, dir string) (streams []*livestream.Stream, monitors []string, err error) {
	for i, c := range channels {
		if set.Library, err = openScene(ctx, dir, c.scene); err != nil {
			return nil, nil, err
		}
		video := fmt.Sprintf("picture%04d", i)
		stream, err := set.StartStream(ctx, video, livestream.Config{Renditions: []livestream.Rendition{livestream.Muxed360p}})
		if err != nil {
			return nil, nil, err
		}
		id, err := register(ctx, set, video, c.channel, c.title, nil)
		if err != nil {
			return nil, nil, err
		}
		streams, monitors = append(streams, stream), append(monitors, id)
	}
	return streams, monitors, nil
}

// schedule registers a stream that is yet to come, and returns another one that is not
// registered.
func schedule(ctx context.Context, set *testenv.Env) (unwatched string, err error) {
	start := time.Now().Add(54 * time.Minute).Truncate(time.Minute)
	const watched = "waiting0001"
	unwatched = "waiting0002"
	set.YouTube.Add(watched, youtube.Video{State: youtube.Upcoming, Title: "Birthday Live 2026", Scheduled: start})
	set.YouTube.Add(unwatched, youtube.Video{State: youtube.Upcoming, Title: "Rooftop Concert: Summer Finale", Scheduled: start.Add(time.Hour)})
	_, err = register(ctx, set, watched, "Hikari Studio", "Birthday Live 2026", map[string]any{"scheduled_start_time": start.Format(time.RFC3339)})
	return unwatched, err
}

func register(ctx context.Context, set *testenv.Env, video, channel, title string, schedule map[string]any) (string, error) {
	config := map[string]any{"check_interval_sec": 3, "blackout_threshold_sec": 10, "silence_threshold_sec": 10}
	maps.Copy(config, schedule)
	answer, err := set.Service.Call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
		"stream_url": set.YouTube.URL(video), "callback_url": set.Receiver.URL(), "config": config,
		"metadata": map[string]any{"channel_name": channel, "stream_title": title},
	})
	if err != nil {
		return "", err
	}
	id, _ := answer.Body["monitor_id"].(string)
	if id == "" {
		return "", fmt.Errorf("registering %s was answered with %d %v", video, answer.Status, answer.Body)
	}
	return id, nil
}

func openIncident(ctx context.Context, set *testenv.Env, monitorID string) (string, error) {
	answer, err := set.Service.Call(ctx, http.MethodGet, "/api/v1/incidents?state=open&monitor_id="+monitorID, nil)
	if err != nil {
		return "", err
	}
	all, _ := answer.Body["incidents"].([]any)
	if len(all) == 0 {
		return "", fmt.Errorf("%s has no open incident", monitorID)
	}
	first, _ := all[0].(map[string]any)
	id, _ := first["incident_id"].(string)
	return id, nil
}

// handle does to an incident what a person would.
func handle(ctx context.Context, set *testenv.Env, incidentID string) error {
	for path, body := range map[string]map[string]any{
		"/acknowledge": {"op_id": "screenshots-acknowledge", "by": "Alex"},
		"/notes":       {"op_id": "screenshots-note", "by": "Alex", "text": "The studio's master fader was down. They are on it."},
	} {
		answer, err := set.Service.Call(ctx, http.MethodPost, "/api/v1/incidents/"+incidentID+path, body)
		if err != nil {
			return err
		}
		if answer.Status >= http.StatusBadRequest {
			return fmt.Errorf("%s was answered with %d %v", path, answer.Status, answer.Body)
		}
	}
	return nil
}

// waitClip waits for the clip of an incident, which comes last.
func waitClip(ctx context.Context, set *testenv.Env, incidentID string) error {
	for {
		answer, err := set.Service.Call(ctx, http.MethodGet, "/api/v1/evidence?incident_id="+incidentID, nil)
		if err != nil {
			return err
		}
		records, _ := answer.Body["evidence"].([]any)
		for _, record := range records {
			fields, _ := record.(map[string]any)
			files, _ := fields["variants"].([]any)
			if slices.ContainsFunc(files, func(f any) bool { return f.(map[string]any)["variant"] == "clip" }) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the incident %s has no clip: %w", incidentID, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}
