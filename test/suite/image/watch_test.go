//go:build image

package image_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The image watches a stream with its own yt-dlp, deno and ffmpeg, restricted like a
// worker in a cluster.
func TestTheImageWatchesAStream(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // the container runs as another user
		t.Fatal(err)
	}
	network, host := newNetwork(t)
	yt, err := youtube.Start(youtube.Config{Addr: host + ":0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = yt.Close() })
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	const video = "imageSmoke1"
	yt.Add(video, youtube.Video{State: youtube.Live, Source: stream})

	name := network
	args := append([]string{"run", "--detach", "--name", name, "--network", network, "--volume", dir + ":" + dir + ":ro"}, hardened...)
	for _, e := range yt.Env() {
		args = append(args, "--env", e)
	}
	args = append(args, image, "watch", yt.URL(video), "--json", "--check-interval-sec=2", "--blackout-threshold-sec=6")
	t.Cleanup(func() { _, _ = try(t, "rm", "-f", "-v", name) })
	docker(t, args...)

	output := func() string { return logs(t, name) }
	waitFor(t, 60*time.Second, "two checks", output, func() bool { return yt.Count(youtube.Segment, video) >= 2 })
	stream.Black(true)
	waitFor(t, 60*time.Second, "alert.blackout", output, func() bool { return slices.Contains(eventTypes(output()), "alert.blackout") })
	stream.Black(false)
	waitFor(t, 60*time.Second, "alert.blackout_recovered", output, func() bool { return slices.Contains(eventTypes(output()), "alert.blackout_recovered") })
	stream.End()
	if status := docker(t, "wait", name); status != "0" {
		t.Errorf("the container exited with status %s:\n%s", status, output())
	}
	want := []string{"stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended"}
	if got := eventTypes(output()); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// eventTypes lists the types of the printed events.
func eventTypes(out string) (all []string) {
	for line := range strings.Lines(out) {
		var e struct {
			Type string `json:"event_type"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type != "" {
			all = append(all, e.Type)
		}
	}
	return all
}

func waitFor(t *testing.T, within time.Duration, what string, output func() string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !condition(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s; the output is:\n%s", within, what, output())
		}
	}
}
