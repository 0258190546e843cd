// Command screenshots takes the pictures of the README and of the documentation. A real
// gateway with its workers and tools watches streams of a fake YouTube, and Chromium shows
// its dashboard.
//
//	screenshots            takes the pictures into docs/images
//	screenshots -keep      leaves the gateway running instead, until it is interrupted
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

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// limit is the longest that taking the pictures may take. It usually takes a third.
const limit = 10 * time.Minute

func main() {
	binary := flag.String("binary", "bin/stream-monitor", "the gateway, built with the dashboard")
	into := flag.String("into", "docs/images", "folder of the pictures")
	keep := flag.Bool("keep", false, "leave the gateway running, and take no pictures")
	flag.Parse()
	if err := run(*binary, *into, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(binary, into string, keep bool) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if !keep {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
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
	scene, err := stage(ctx, set)
	if err != nil {
		return err
	}
	if keep {
		fmt.Printf("%+v\n", scene)
		<-ctx.Done()
		return nil
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
	Monitor  string // that went black, recovered and is silent now
	Incident string // its open incident
	upcoming string // a video that nobody watches yet
}

var channels = []struct{ channel, title string }{
	{"Northline News 24", "Evening briefing: storm approaches the coast"},
	{"水無月ましろ Ch.", "【歌枠】まったり歌います"},
	{"Harbour Camera", "Live view of the harbour entrance"},
	{"Orbit Live", "Launch day: second attempt"},
	{"Piano at Night", "Nocturnes until midnight"},
	{"قناة المدينة", "بث مباشر من وسط المدينة"},
}

const (
	settled   = 25 * time.Second // a worker looks at a new stream for the first time
	inTrouble = 14 * time.Second
	onceMore  = 10 * time.Second
)

// stage registers the streams and lets things happen to them.
func stage(ctx context.Context, set *testenv.Env) (s scene, err error) {
	streams := make([]*livestream.Stream, len(channels))
	monitors := make([]string, len(channels))
	for i, c := range channels {
		video := fmt.Sprintf("picture%04d", i)
		if streams[i], err = set.StartStream(ctx, video, livestream.Config{}); err != nil {
			return s, err
		}
		if monitors[i], err = register(ctx, set, video, c.channel, c.title, nil); err != nil {
			return s, err
		}
	}
	start := time.Now().Add(54 * time.Minute).Truncate(time.Minute)
	for i, video := range []string{"waiting0001", "waiting0002"} {
		set.YouTube.Add(video, youtube.Video{State: youtube.Upcoming, Title: "Birthday Live 2026", Scheduled: start})
		schedule := map[string]any{"scheduled_start_time": start.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)}
		if i == 0 {
			if _, err = register(ctx, set, video, "Hikari Studio", "Birthday Live 2026", schedule); err != nil {
				return s, err
			}
		}
		s.upcoming = video
	}
	s.Monitor = monitors[0]
	steps := []struct {
		do   func()
		wait string // the event, of the first monitor
		then time.Duration
	}{
		{func() {}, "stream.started", settled},
		{func() { streams[0].Black(true); streams[3].Black(true) }, "alert.blackout", inTrouble},
		{func() { streams[0].Black(false) }, "alert.blackout_recovered", onceMore},
		{func() { streams[0].Silence(true) }, "alert.silence", inTrouble},
	}
	for _, step := range steps {
		step.do()
		if _, err = set.WaitEvent(ctx, s.Monitor, step.wait); err != nil {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(step.then):
		}
	}
	s.Incident, err = openIncident(ctx, set, s.Monitor)
	return s, err
}

func register(ctx context.Context, set *testenv.Env, video, channel, title string, schedule map[string]any) (string, error) {
	config := map[string]any{"check_interval_sec": 5, "blackout_threshold_sec": 10, "silence_threshold_sec": 10}
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
