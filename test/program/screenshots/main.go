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
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
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
	api := apiclient.New(set.Service.URL(), system.APIKey, nil)
	streams, monitors, err := broadcast(ctx, set, api, dir)
	if err != nil {
		return s, err
	}
	if s.upcoming, err = schedule(ctx, set, api); err != nil {
		return s, err
	}
	wait := func(of int, event string) (d webhookreceiver.Delivery) {
		if err == nil {
			d, err = set.WaitEvent(ctx, monitors[of], event)
		}
		return d
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
	for _, alert := range []webhookreceiver.Delivery{wait(silent, "alert.silence"), wait(black, "alert.blackout")} {
		if err == nil { // the clip comes last
			_, err = set.CheckEvidence(ctx, alert.EventID, "clip")
		}
	}
	if err != nil {
		return s, err
	}
	s.Monitor = monitors[recovered]
	if s.Incident, err = openIncident(ctx, api, monitors[black]); err != nil {
		return s, err
	}
	handled, err := openIncident(ctx, api, monitors[silent])
	if err != nil {
		return s, err
	}
	return s, handle(ctx, api, handled)
}

// broadcast starts a stream for each channel, and its monitor.
func broadcast(ctx context.Context, set *testenv.Env, api *apiclient.Client, dir string) (streams []*livestream.Stream, monitors []string, err error) {
	for i, c := range channels {
		if set.Library, err = openScene(ctx, dir, c.scene); err != nil {
			return nil, nil, err
		}
		video := fmt.Sprintf("picture%04d", i)
		stream, err := set.StartStream(ctx, video, livestream.Config{Renditions: []livestream.Rendition{livestream.Muxed360p}})
		if err != nil {
			return nil, nil, err
		}
		id, err := register(ctx, set, api, video, c.channel, c.title, nil)
		if err != nil {
			return nil, nil, err
		}
		streams, monitors = append(streams, stream), append(monitors, id)
	}
	return streams, monitors, nil
}

// schedule registers a stream that is yet to come, and returns another one that is not
// registered.
func schedule(ctx context.Context, set *testenv.Env, api *apiclient.Client) (unwatched string, err error) {
	start := time.Now().Add(54 * time.Minute).Truncate(time.Minute)
	const watched = "waiting0001"
	unwatched = "waiting0002"
	set.YouTube.Add(watched, youtube.Video{State: youtube.Upcoming, Title: "Birthday Live 2026", Scheduled: start})
	set.YouTube.Add(unwatched, youtube.Video{State: youtube.Upcoming, Title: "Rooftop Concert: Summer Finale", Scheduled: start.Add(time.Hour)})
	_, err = register(ctx, set, api, watched, "Hikari Studio", "Birthday Live 2026", map[string]any{"scheduled_start_time": start.Format(time.RFC3339)})
	return unwatched, err
}

func register(ctx context.Context, set *testenv.Env, api *apiclient.Client, video, channel, title string, schedule map[string]any) (string, error) {
	config := map[string]any{"check_interval_sec": 3, "blackout_threshold_sec": 10, "silence_threshold_sec": 10}
	maps.Copy(config, schedule)
	var created struct {
		ID string `json:"monitor_id"`
	}
	err := api.Call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
		"stream_url": set.YouTube.URL(video), "callback_url": set.Receiver.URL(), "config": config,
		"metadata": map[string]any{"channel_name": channel, "stream_title": title},
	}, &created)
	return created.ID, err
}

func openIncident(ctx context.Context, api *apiclient.Client, monitorID string) (string, error) {
	var open struct {
		Incidents []struct {
			ID string `json:"incident_id"`
		} `json:"incidents"`
	}
	err := api.Call(ctx, http.MethodGet, "/api/v1/incidents?state=open&monitor_id="+monitorID, nil, &open)
	if err == nil && len(open.Incidents) == 0 {
		err = fmt.Errorf("%s has no open incident", monitorID)
	}
	if err != nil {
		return "", err
	}
	return open.Incidents[0].ID, nil
}

// handle does to an incident what a person would.
func handle(ctx context.Context, api *apiclient.Client, incidentID string) error {
	path := "/api/v1/incidents/" + incidentID
	return errors.Join(
		api.Call(ctx, http.MethodPost, path+"/acknowledge", map[string]any{"op_id": "screenshots-acknowledge", "by": "Alex"}, nil),
		api.Call(ctx, http.MethodPost, path+"/notes", map[string]any{
			"op_id": "screenshots-note", "by": "Alex", "text": "The studio's master fader was down. They are on it.",
		}, nil),
	)
}
