package livestream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// Options locate the cache and the film. The zero value works.
type Options struct {
	CacheDir string // default: stream-monitor/livestream in the user's cache directory
	Clip     string // a film without dark scenes to show instead of the generated picture; empty: none
}

// Library keeps units of media on disk. Any number of streams and processes may share it at once.
type Library struct {
	dir, ffmpeg string
	clip        string
	source      string // of the picture: part of every name in the cache

	mu     sync.Mutex
	making map[string]*sync.Mutex // by name: the first caller makes a unit, others wait
}

// Open opens a library. It fails without ffmpeg, a cache directory, or the clip.
func Open(o Options) (*Library, error) {
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		return nil, fmt.Errorf("livestream: %w", err)
	}
	l := &Library{ffmpeg: ffmpeg, clip: o.Clip, making: map[string]*sync.Mutex{}}
	if l.clip != "" {
		info, err := os.Stat(l.clip)
		if err != nil {
			return nil, fmt.Errorf("livestream: clip: %w", err)
		}
		l.source = fmt.Sprintf("%s %d %d", l.clip, info.Size(), info.ModTime().UnixNano())
	}
	if l.dir, err = testtools.Cache(o.CacheDir, "livestream"); err != nil {
		return nil, fmt.Errorf("livestream: %w", err)
	}
	return l, nil
}

// load returns the bytes of a unit, and makes it first if it is missing. A failure is not cached.
func (l *Library) load(ctx context.Context, u unit) ([]byte, error) {
	args := u.arguments(l)
	name := l.source + strings.Join(args, "\x00")
	if u.rendition.Captions {
		name += fmt.Sprint("captions", u.uncaptioned)
	}
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(l.dir, hex.EncodeToString(sum[:10]))
	l.mu.Lock()
	one := l.making[path]
	if one == nil {
		one = &sync.Mutex{}
		l.making[path] = one
	}
	l.mu.Unlock()
	one.Lock()
	defer one.Unlock()
	media := filepath.Join(path, "1") // after the lead
	if b, err := os.ReadFile(media); err == nil {
		return b, nil
	}
	err := testtools.MakeDir(path, func(dir string) error {
		_, err := testtools.FFmpeg(ctx, l.ffmpeg, dir, nil, args...)
		if err != nil || !u.rendition.Captions {
			return err
		}
		return l.addCaptions(ctx, u, dir)
	})
	if err != nil {
		return nil, fmt.Errorf("livestream: make a unit: %w", err)
	}
	return os.ReadFile(media)
}

// addCaptions writes the captions of a unit into its pictures, which have no B-frames.
func (l *Library) addCaptions(ctx context.Context, u unit, dir string) error {
	pictures, err := testtools.FFmpeg(ctx, l.ffmpeg, dir, nil, "-i", "1", "-map", "0:v", "-c", "copy", "-f", "h264", "-")
	if err != nil {
		return err
	}
	captioned, err := testtools.FFmpeg(ctx, l.ffmpeg, dir, bitstream.WithCaptions(pictures, false, u.captions), "-copyts",
		"-fflags", "+genpts", "-framerate", fmt.Sprint(fps), "-f", "h264", "-i", "-", // these begin at zero
		"-itsoffset", fmt.Sprint(-unitStart.Seconds()), "-i", "1", "-output_ts_offset", fmt.Sprint(unitStart.Seconds()),
		"-map", "0:v", "-map", "1:a", "-c", "copy", "-muxdelay", "0", "-muxpreload", "0", "-mpegts_flags", "initial_discontinuity", "-f", "mpegts", "-")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "1"), captioned, 0o644)
}
