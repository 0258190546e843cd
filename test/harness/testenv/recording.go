package testenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// RecordYtdlp runs the real yt-dlp on a live stream with the default renditions, and
// records what it prints.
func RecordYtdlp(ctx context.Context) (recording *youtube.Recording, err error) {
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		return nil, err
	}
	stream, err := library.Start(ctx, livestream.Config{Preroll: time.Minute})
	if err != nil {
		return nil, err
	}
	tool, err := testtools.Tool("yt-dlp", "")
	if err != nil {
		return nil, err
	}
	video := youtube.NewVideoID()
	y.Broadcast(video, stream)
	cmd := exec.CommandContext(ctx, tool, "--ignore-config", "--no-playlist", "--dump-json", "--", y.URL(video))
	cmd.Env = append(cmd.Environ(), y.Env()...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("record yt-dlp: %w", err)
	}
	return y.Record(video, out)
}

// standIn makes a stand-in for yt-dlp answer from now on.
func (e *Env) standIn(r *youtube.Recording) error {
	tool, err := testtools.Tool("yt-dlp", "")
	if err != nil {
		return err
	}
	path, err := e.YouTube.StandIn(tool, r)
	e.tools = []string{testtools.Variables["yt-dlp"] + "=" + path}
	return err
}
