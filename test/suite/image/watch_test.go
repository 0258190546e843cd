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

// TestItWatchesAStream has the image, as a worker is run, watch a stream that
// goes black, comes back and ends: with its own yt-dlp, deno and ffmpeg.
func TestItWatchesAStream(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // the container's user is another one
		t.Fatal(err)
	}
	network, host := network(t)
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

	said := func() string { return logs(t, name) }
	eventually(t, 60*time.Second, "two checks", said, func() bool { return yt.Count(youtube.Segment, video) >= 2 })
	stream.Black(true)
	eventually(t, 60*time.Second, "alert.blackout", said, func() bool { return slices.Contains(events(said()), "alert.blackout") })
	stream.Black(false)
	eventually(t, 60*time.Second, "alert.blackout_recovered", said, func() bool { return slices.Contains(events(said()), "alert.blackout_recovered") })
	stream.End()
	if status := docker(t, "wait", name); status != "0" {
		t.Errorf("it ended with status %s:\n%s", status, said())
	}
	want := []string{"stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended"}
	if got := events(said()); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// events is the types of the events that were printed.
func events(out string) (all []string) {
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

func eventually(t *testing.T, within time.Duration, what string, said func() string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s; it said:\n%s", within, what, said())
		}
	}
}
