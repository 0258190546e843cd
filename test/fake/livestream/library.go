package livestream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// cacheVersion is part of every name in the cache. Change it with the encoder's settings.
const cacheVersion = "1"

// Options locate the cache, ffmpeg and the film. The zero value works.
type Options struct {
	CacheDir string // default: stream-monitor/livestream in the user's cache directory
	FFmpeg   string // default: as testtools.Tool finds it
	Clip     string // a film to show instead of the generated picture, default TEST_CLIP, else none
	Bright   bool   // no scene of the film is dark: it is shown without the bright strip
}

// Library keeps encoded media on disk, and in memory once used. Any number of streams
// and processes may share it at once.
type Library struct {
	dir    string
	ffmpeg string
	clip   string
	bright bool

	mu      sync.Mutex
	entries map[string]*cacheEntry
}

// cacheEntry is one encoded file. The first caller makes it, others wait.
type cacheEntry struct {
	mu     sync.Mutex
	frames [][]byte
}

// Open opens a library. It fails without ffmpeg, a cache directory, or the clip.
func Open(o Options) (*Library, error) {
	ffmpeg, err := testtools.Tool("ffmpeg", o.FFmpeg)
	if err != nil {
		return nil, fmt.Errorf("livestream: %w", err)
	}
	l := &Library{ffmpeg: ffmpeg, clip: o.Clip, bright: o.Bright, entries: map[string]*cacheEntry{}}
	if l.clip == "" {
		l.clip = os.Getenv("TEST_CLIP")
	}
	source := "generated"
	if l.clip != "" {
		info, err := os.Stat(l.clip)
		if err != nil {
			return nil, fmt.Errorf("livestream: clip: %w", err)
		}
		source = fmt.Sprintf("%s %d %d %t", l.clip, info.Size(), info.ModTime().UnixNano(), l.bright)
	}
	sum := sha256.Sum256([]byte(source))
	dir, err := testtools.Cache(o.CacheDir, "livestream")
	if err == nil {
		l.dir, err = testtools.Cache(filepath.Join(dir, cacheVersion+"-"+hex.EncodeToString(sum[:4])), "livestream")
	}
	if err != nil {
		return nil, fmt.Errorf("livestream: %w", err)
	}
	return l, nil
}

// prepare encodes what renditions need, except transitions to and from black.
func (l *Library) prepare(ctx context.Context, renditions []Rendition, segment time.Duration) error {
	for _, r := range renditions {
		if r.HasVideo() {
			if _, err := l.picture(ctx, r, segment); err != nil {
				return err
			}
			if _, err := l.black(ctx, r, segment); err != nil {
				return err
			}
		}
		if r.HasAudio() {
			if _, err := l.audio(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// frames returns the entry called name from memory or disk, or calls produce and
// split to make it. A failure is not cached.
func (l *Library) frames(name string, produce func() ([]byte, error), split func([]byte) ([][]byte, error)) (frames [][]byte, err error) {
	l.mu.Lock()
	entry := l.entries[name]
	if entry == nil {
		entry = &cacheEntry{}
		l.entries[name] = entry
	}
	l.mu.Unlock()
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.frames != nil {
		return entry.frames, nil
	}
	path := filepath.Join(l.dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		if frames, err = split(b); err == nil {
			entry.frames = frames
			return frames, nil
		}
	}
	if b, err = produce(); err != nil {
		return nil, fmt.Errorf("livestream: make %s: %w", name, err)
	}
	if frames, err = split(b); err != nil {
		return nil, err
	}
	entry.frames = frames
	return frames, writeFile(path, b)
}

// writeFile writes a file that other processes see whole or not at all.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("livestream: cache: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("livestream: cache: %w", err)
	}
	return os.Rename(f.Name(), path)
}
