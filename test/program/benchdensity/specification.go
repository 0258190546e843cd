package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

const (
	repeated     = 3                // times that each step of the specification's method is measured
	askInterval  = 30 * time.Second // between two questions to yt-dlp, by the same method
	analysePixel = "-nostdin -i %s -vf blackdetect=d=0.1:pix_th=0.10 -an -f null -"
	analyseSound = "-nostdin -i %s -af silencedetect=n=-50dB:d=0.5 -vn -f null -"
	askYTDLP     = "--ignore-config -f best -J https://www.youtube.com/watch?v=%s"
)

// specificationCost is what the method of the specification (sections 6.3 and 6.4) costs: two runs
// of ffmpeg for a segment of the best quality at each check, and yt-dlp every 30 s.
type specificationCost struct {
	CPUSecPerStreamHour float64
	Times               float64 // what the gateway and its tools take
	FFmpegSec, YTDLPSec float64 // for a segment and for a question
}

// measureSpecification measures the steps of the method, one after the other, without fetching.
func (m *run) measureSpecification(ctx context.Context) (c specificationCost, err error) {
	file, stream := filepath.Join(m.dir, "segment.ts"), m.media.timelines[0].Stream
	for range repeated {
		segment, err := stream.Segment(ctx, best.Itag, stream.Sequence(time.Now())-1)
		if err != nil {
			return c, err
		}
		if err := os.WriteFile(file, segment, 0o600); err != nil {
			return c, err
		}
		for _, step := range []struct {
			tool, args, of string
			cost           *float64
		}{{"ffmpeg", analysePixel, file, &c.FFmpegSec}, {"ffmpeg", analyseSound, file, &c.FFmpegSec}, {"yt-dlp", askYTDLP, videoID(0), &c.YTDLPSec}} {
			path, err := testtools.Tool(step.tool, "")
			if err != nil {
				return c, err
			}
			cmd := exec.CommandContext(ctx, path, strings.Fields(fmt.Sprintf(step.args, step.of))...)
			cmd.Env = slices.Concat(os.Environ(), m.media.Env())
			if out, err := cmd.CombinedOutput(); err != nil {
				return c, fmt.Errorf("%s: %w\n%s", step.tool, err, out)
			}
			*step.cost += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / repeated
		}
	}
	c.CPUSecPerStreamHour = c.FFmpegSec*float64(time.Hour/interval) + c.YTDLPSec*float64(time.Hour/askInterval)
	return c, nil
}
