package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

//go:embed scenes/*.svg
var scenes embed.FS

// zoom moves the drawing a little, so that it is a film: once to and fro in 8 s, after
// which a livestream begins again.
const zoom = "scale=1280:720,zoompan=z='1.04-0.04*cos(2*PI*on/240)':x='(iw-iw/zoom)/2':y='(ih-ih/zoom)/2':d=240:s=640x360:fps=30"

// openScene returns a library whose streams show the drawing of that name. It keeps its
// files in dir.
func openScene(ctx context.Context, dir, name string) (*livestream.Library, error) {
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		return nil, err
	}
	drawing, err := scenes.ReadFile("scenes/" + name + ".svg")
	if err != nil {
		return nil, err
	}
	svg, film := filepath.Join(dir, name+".svg"), filepath.Join(dir, name+".mp4")
	if err := os.WriteFile(svg, drawing, 0o600); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, ffmpeg, "-v", "error", "-i", svg, "-vf", zoom, "-c:v", "libx264", "-preset", "veryfast", "-crf", "16", film).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("film the scene %s: %w\n%s", name, err, out)
	}
	return livestream.Open(livestream.Options{CacheDir: dir, Clip: film})
}
