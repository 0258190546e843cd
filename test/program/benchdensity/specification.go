//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// repeated is how often each step of the specification's method is measured.
const repeated = 3

// askInterval is how often the specification's method asks yt-dlp.
const askInterval = 30 * time.Second

// specificationCost is what the method of the specification costs, without optimizations and
// without fetching.
type specificationCost struct {
	CPUSecPerStreamHour float64
	FFmpegSec, YTDLPSec float64 // for a segment and for a question
}

// measureSpecification measures the steps of the method, one after the other.
func (m *run) measureSpecification(ctx context.Context) (c specificationCost, err error) {
	file := filepath.Join(m.dir, "segment.ts")
	stream := m.media.timelines[0]
	for range repeated {
		segment, err := stream.Stream.Segment(ctx, best.Itag, stream.Sequence(time.Now())-1)
		if err == nil {
			err = os.WriteFile(file, segment, 0o600)
		}
		if err != nil {
			return c, err
		}
		for _, step := range []struct {
			tool string
			args []string
			cost *float64
		}{
			{"ffmpeg", []string{"-nostdin", "-i", file, "-vf", "blackdetect=d=0.1:pix_th=0.10", "-an", "-f", "null", "-"}, &c.FFmpegSec},
			{"ffmpeg", []string{"-nostdin", "-i", file, "-af", "silencedetect=n=-50dB:d=0.5", "-vn", "-f", "null", "-"}, &c.FFmpegSec},
			{"yt-dlp", []string{"--ignore-config", "-f", "best", "-J", "https://www.youtube.com/watch?v=" + videoID(0)}, &c.YTDLPSec},
		} {
			path, err := testtools.Tool(step.tool, "")
			if err != nil {
				return c, err
			}
			cmd := exec.CommandContext(ctx, path, step.args...)
			cmd.Env = slices.Concat(os.Environ(), m.media.Env())
			if out, err := cmd.CombinedOutput(); err != nil {
				return c, fmt.Errorf("%s: %w\n%s", step.tool, err, out)
			}
			*step.cost += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / repeated
		}
	}
	c.CPUSecPerStreamHour = c.FFmpegSec*time.Hour.Seconds()/float64(m.interval) + c.YTDLPSec*time.Hour.Seconds()/askInterval.Seconds()
	return c, nil
}
