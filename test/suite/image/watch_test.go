//go:build image

package image_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/docker"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// The image watches a stream with its own yt-dlp, deno and ffmpeg, restricted like a
// worker in a cluster.
func TestTheImageWatchesAStream(t *testing.T) {
	name, host := docker.NewNetwork(t)
	fakes, err := testenv.StartFakes(testenv.Config{Address: host})
	t.Cleanup(func() { _ = fakes.Close() })
	if err != nil {
		t.Fatal(err)
	}
	const video = "imageSmoke1"
	stream, err := fakes.StartStream(t.Context(), video, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--detach", "--name", name, "--network", name, "--volume", fakes.FakeDir() + ":" + fakes.FakeDir() + ":ro"}, hardened...)
	for _, e := range fakes.YouTube.Env() {
		args = append(args, "--env", e)
	}
	args = append(args, image, "watch", fakes.YouTube.URL(video), "--json", "--check-interval-sec=2", "--blackout-threshold-sec=6")
	t.Cleanup(func() { _, _ = docker.Try("rm", "-f", "-v", name) })
	docker.Run(t, args...)

	output := func() string { return logs(t, name) }
	waitFor(t, 60*time.Second, "two checks", output, func() bool { return fakes.YouTube.Count(youtube.Segment, video) >= 2 })
	stream.Black(true)
	waitFor(t, 60*time.Second, "alert.blackout", output, func() bool { return slices.Contains(eventTypes(output()), "alert.blackout") })
	stream.Black(false)
	waitFor(t, 60*time.Second, "alert.blackout_recovered", output, func() bool { return slices.Contains(eventTypes(output()), "alert.blackout_recovered") })
	stream.End()
	if status := docker.Run(t, "wait", name); status != "0" {
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
