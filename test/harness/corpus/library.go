package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// edition is part of every name in the cache; it changes when clips are put
// together in another way than their recipe tells.
const edition = "1"

// Options are where a library finds things. The zero value will do.
type Options struct {
	CacheDir string // default: stream-monitor/corpus in the user's cache directory
	FFmpeg   string // default: as of workshop.Tool
}

// Library makes clips and keeps them on disk. It may be used concurrently, by
// any number of processes: who comes second takes what the first has made.
type Library struct {
	dir    string
	ffmpeg string
}

// Open opens a library. Error: no ffmpeg, no cache directory.
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

// FFmpeg is the path of the ffmpeg that the library uses.
func (l *Library) FFmpeg() string { return l.ffmpeg }

// Has tells whether an item need not be made any more.
func (l *Library) Has(i Item) bool {
	_, err := os.Stat(l.path(i))
	return err == nil
}

// Clip returns an item's clip, from disk or made now. It blocks for one to
// three seconds in that case. Errors: ffmpeg's, the disk's, ctx's.
func (l *Library) Clip(ctx context.Context, i Item) (Clip, error) {
	path := l.path(i)
	if c, err := load(path, i); err == nil {
		return c, nil
	}
	work, err := os.MkdirTemp(l.dir, ".new-*")
	if err != nil {
		return Clip{}, fmt.Errorf("corpus: cache: %w", err)
	}
	defer os.RemoveAll(work)
	if err := l.make(ctx, i, work); err != nil {
		return Clip{}, fmt.Errorf("corpus: make %q: %w", i.Name, err)
	}
	made := filepath.Join(work, "segments")
	if err := os.Rename(made, path); err != nil {
		if _, old := load(path, i); old != nil { // not because another process was faster
			_ = os.RemoveAll(path)
			err = os.Rename(made, path)
		} else {
			err = nil
		}
		if err != nil {
			return Clip{}, fmt.Errorf("corpus: cache: %w", err)
		}
	}
	return load(path, i)
}

// path is where an item's segments are: its name, and all that it is made of.
func (l *Library) path(i Item) string {
	recipe := strings.Join(append(i.encoding(), fmt.Sprint(edition, i.Target(), i.Lost.recipe())), "\x00")
	sum := sha256.Sum256([]byte(recipe))
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
	cmd := exec.CommandContext(ctx, l.ffmpeg, append([]string{"-hide_banner", "-loglevel", "error", "-nostdin", "-y"}, args...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.Join(err, errors.New(strings.TrimSpace(problems.String())))
	}
	return nil
}
