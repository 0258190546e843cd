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
	sum := sha256.Sum256([]byte(l.source + strings.Join(args, "\x00")))
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
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("livestream: make a unit: %w", err)
	}
	return os.ReadFile(media)
}
