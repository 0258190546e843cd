package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
)

// Clip is an item in segments.
type Clip struct {
	Item     Item
	Segments []Segment // in order
}

// Segment is one file of MPEG-TS, or a fragment of MP4 after the init section.
type Segment struct {
	Name     string        // of the file
	Start    time.Duration // from the beginning of the clip
	Duration time.Duration // as the packager states it
	Bytes    []byte
}

// End returns where the next segment begins.
func (s Segment) End() time.Duration { return s.Start + s.Duration }

// Length returns the sum of the segments' durations.
func (c Clip) Length() time.Duration { return c.Segments[len(c.Segments)-1].End() }

// The files of the packager beside segments.
const (
	playlistName = "index.m3u8"
	initName     = "init.mp4"
)

// load reads a clip from its directory.
func load(dir string, i Item) (Clip, error) {
	c := Clip{Item: i}
	playlist, err := os.ReadFile(filepath.Join(dir, playlistName))
	if err != nil {
		return Clip{}, err
	}
	var init []byte
	if i.stream.fragments {
		if init, err = os.ReadFile(filepath.Join(dir, initName)); err != nil {
			return Clip{}, err
		}
	}
	var at, duration time.Duration
	for lines := bufio.NewScanner(bytes.NewReader(playlist)); lines.Scan(); {
		line := lines.Text()
		if value, ok := strings.CutPrefix(line, "#EXTINF:"); ok {
			number, err := strconv.ParseFloat(strings.TrimRight(value, ","), 64)
			if err != nil {
				return Clip{}, fmt.Errorf("corpus: %s: %w", dir, err)
			}
			duration = seconds(number).Round(time.Microsecond)
		}
		if line == "" || line[0] == '#' {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, line))
		if err != nil {
			return Clip{}, err
		}
		if at >= seconds(i.Lost[0]) && at < seconds(i.Lost[1]) {
			body = bitstream.WithoutEach(body, 25)
		}
		c.Segments = append(c.Segments, Segment{Name: line, Start: at, Duration: duration, Bytes: slices.Concat(init, body)})
		at += duration
	}
	// With open groups of pictures the packager states up to two frames more.
	if missing := seconds(i.Length) - at; missing.Abs() > 3*time.Second/Rate {
		return Clip{}, fmt.Errorf("corpus: %s is %v long, not %v s", dir, at, i.Length)
	}
	c.Segments = spliced(c.Segments, i.stream.splice)
	return c, nil
}
