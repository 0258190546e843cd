package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// cacheVersion is part of every name in the cache. Change it when the same arguments
// of ffmpeg make other clips.
const cacheVersion = "1"

// Options locate the cache and ffmpeg. The zero value works.
type Options struct {
	CacheDir string // default: stream-monitor/corpus in the user's cache directory
	FFmpeg   string // default: as testtools.Tool finds it
}

// Library encodes clips and keeps them on disk. It is safe for concurrent use, also by
// several processes.
type Library struct {
	dir    string
	ffmpeg string
}

// Open opens a library. It fails without ffmpeg or a cache directory.
func Open(o Options) (*Library, error) {
	path, err := testtools.Tool("ffmpeg", o.FFmpeg)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	dir, err := testtools.Cache(o.CacheDir, "corpus")
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return &Library{dir: dir, ffmpeg: path}, nil
}

// FFmpeg returns the path of the ffmpeg that the library uses.
func (l *Library) FFmpeg() string { return l.ffmpeg }

// Clip returns an item's clip. If it is not on disk, Clip encodes it in one to three
// seconds. Its errors are ffmpeg's, the disk's and ctx's.
func (l *Library) Clip(ctx context.Context, i Item) (Clip, error) {
	path := l.path(i)
	if c, err := load(path, i); err == nil {
		return c, nil
	}
	if err := testtools.MakeDir(path, func(dir string) error { return l.encode(ctx, i, dir) }); err != nil {
		return Clip{}, fmt.Errorf("corpus: make %q: %w", i.Name, err)
	}
	return load(path, i)
}

// path returns the directory of an item's segments. Its name has a hash of ffmpeg's
// arguments.
func (l *Library) path(i Item) string {
	key := strings.Join(append(i.encodingArgs(), fmt.Sprint(cacheVersion, i.Segment, i.Missing.cacheKey())+i.stream.cacheKey()), "\x00")
	sum := sha256.Sum256([]byte(key))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, i.Name)
	return filepath.Join(l.dir, name+"-"+hex.EncodeToString(sum[:6]))
}

// run runs ffmpeg.
func (l *Library) run(ctx context.Context, args ...string) error {
	_, err := testtools.FFmpeg(ctx, l.ffmpeg, "", nil, args...)
	return err
}
