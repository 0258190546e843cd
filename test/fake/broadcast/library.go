package broadcast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// edition is part of every name in the cache; it changes with what is made of
// ffmpeg's output here. ffmpeg's own arguments are part of the names anyway.
const edition = "2"

// Options are where a library finds things. The zero value will do.
type Options struct {
	CacheDir string // default: stream-monitor/broadcast in the user's cache directory
	FFmpeg   string // default: as of workshop.Tool
}

// Library is packaged recordings: kept on disk, and shared by any number of
// broadcasts at once, in any number of processes.
type Library struct {
	dir    string
	ffmpeg string

	mu    sync.Mutex
	being map[string]*sync.Mutex // by name of a recipe: one makes it, the others wait
}

// Open opens a library. Error: no ffmpeg, no cache directory.
func Open(o Options) (*Library, error) {
	ffmpeg, err := testtools.Tool("ffmpeg", o.FFmpeg)
	if err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	dir, err := testtools.Cache(o.CacheDir, "broadcast")
	if err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	return &Library{dir: dir, ffmpeg: ffmpeg, being: map[string]*sync.Mutex{}}, nil
}

// Prepare encodes a shape unless the library has it already. It runs ffmpeg once
// or twice, for 1 to 4 s of CPU time each. It returns an error if the shape
// contradicts itself, if ctx is done, or if ffmpeg fails.
func (l *Library) Prepare(ctx context.Context, s Shape) error {
	if err := s.complete(); err != nil {
		return err
	}
	_, err := l.packages(ctx, s)
	return err
}

// pack is a packaged part of the recording.
type pack struct {
	dir      string
	listings []listing // of the picture, or of all in one; of the sound
}

// packages gives the packages of a shape's recipes.
func (l *Library) packages(ctx context.Context, s Shape) (all []pack, err error) {
	for _, r := range s.recipes() {
		p, err := l.provide(ctx, r)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// provide reads a package, which is made first if need be.
func (l *Library) provide(ctx context.Context, r recipe) (pack, error) {
	name := r.name()
	l.mu.Lock()
	if l.being[name] == nil {
		l.being[name] = &sync.Mutex{}
	}
	being := l.being[name]
	l.mu.Unlock()
	being.Lock()
	defer being.Unlock()

	dir := filepath.Join(l.dir, name)
	if _, err := os.Stat(dir); err != nil {
		if err := l.produce(ctx, r, dir); err != nil {
			return pack{}, fmt.Errorf("broadcast: make %s: %w", name, err)
		}
	}
	listings, err := r.read(dir)
	return pack{dir, listings}, err
}

// produce runs ffmpeg in a directory of its own, which gets its name when it is
// complete: another process sees all of it or nothing.
func (l *Library) produce(ctx context.Context, r recipe, dir string) error {
	work, err := os.MkdirTemp(l.dir, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if r.encrypted {
		err := errors.Join(
			os.WriteFile(filepath.Join(work, keyFile), []byte(theKey), 0o644),
			os.WriteFile(filepath.Join(work, keyInfo), []byte(keyFile+"\n"+keyFile+"\n"), 0o644))
		if err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, l.ffmpeg, r.arguments()...)
	cmd.Dir = work
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	if r.audio == HEAAC {
		if err := declareHEAAC(work); err != nil {
			return err
		}
	}
	if err := os.Rename(work, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}

// read reads what ffmpeg has listed.
func (r recipe) read(dir string) (all []listing, err error) {
	if r.mpd != HLS {
		text, err := os.ReadFile(filepath.Join(dir, manifest))
		if err != nil {
			return nil, err
		}
		return readManifest(text, r.to-r.from)
	}
	lists := []string{"0.m3u8"}
	switch {
	case r.container == Packed && r.video == NoVideo:
		lists = []string{packedList}
	case r.container == Packed:
		lists = append(lists, packedList)
	case r.apart:
		lists = append(lists, "1.m3u8")
	}
	for _, name := range lists {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		l, err := readPlaylist(string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
