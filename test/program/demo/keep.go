package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// keepOpen shows the dashboard with a stream that is well and one that is black, until
// the user interrupts it.
func keepOpen(set *testenv.Env) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, black := range []bool{false, true} {
		video := map[bool]string{false: "keep-on-air", true: "keep-black0"}[black]
		stream, err := set.StartStream(ctx, video, livestream.Config{})
		if err != nil {
			return err
		}
		id, err := set.Service.Register(ctx, set.YouTube.URL(video), set.Receiver.URL(), map[string]any{
			"check_interval_sec": 2, "blackout_threshold_sec": 6, "silence_threshold_sec": 6,
		})
		if err != nil {
			return err
		}
		if black { // not before there is a picture to compare with
			if _, err := set.WaitEvent(ctx, id, "stream.started"); err != nil {
				return err
			}
			stream.Black(true)
		}
	}
	say("the dashboard stays open, with a stream on air and a black one; Ctrl-C ends it")
	fmt.Printf("\n  Open the dashboard: %s/\n  Sign in with the key %s\n\n", set.Service.URL(), system.APIKey)
	<-ctx.Done()
	return nil
}
