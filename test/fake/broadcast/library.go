package broadcast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// cacheVersion is part of every name in the cache. Change it with the processing of
// ffmpeg's output; ffmpeg's arguments are part of the names anyway.
const cacheVersion = "2"

// Options locate the cache and ffmpeg. The zero value works.
type Options struct {
	CacheDir string // default: stream-monitor/broadcast in the user's cache directory
	FFmpeg   string // default: as testtools.Tool finds it
}

// Library keeps packaged recordings on disk. Any number of broadcasts and processes may
// share it at once.
type Library struct {
	dir    string
	ffmpeg string

	mu sync.Mutex // held while a run of ffmpeg is missing, so that only one caller packages it
}

// Open opens a library. It fails without ffmpeg or a cache directory.
func Open(o Options) (*Library, error) {
	ffmpeg, err := testtools.Tool("ffmpeg", o.FFmpeg)
	if err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	dir, err := testtools.Cache(o.CacheDir, "broadcast")
	if err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	return &Library{dir: dir, ffmpeg: ffmpeg}, nil
}

// Prepare encodes a shape unless the library has it already. It runs ffmpeg once
// or twice, for 1 to 4 s of CPU time each. It returns an error if the shape
// contradicts itself, if ctx is done, or if ffmpeg fails.
func (l *Library) Prepare(ctx context.Context, s Shape) error {
	if err := s.applyDefaults(); err != nil {
		return err
	}
	_, err := l.packages(ctx, s)
	return err
}

// packagedPart is a packaged part of the recording.
type packagedPart struct {
	dir      string
	listings []listing // video or muxed first, then audio
}

// packages returns the packaged parts of a shape. It makes missing ones.
func (l *Library) packages(ctx context.Context, s Shape) (all []packagedPart, err error) {
	for _, r := range s.encoderRuns() {
		p, err := l.load(ctx, r)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// load reads a packaged part. It makes a missing one first.
func (l *Library) load(ctx context.Context, r encoderRun) (packagedPart, error) {
	name := r.name()
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.dir, name)
	if _, err := os.Stat(dir); err != nil {
		if err := testtools.MakeDir(dir, func(dir string) error { return l.makePackage(ctx, r, dir) }); err != nil {
			return packagedPart{}, fmt.Errorf("broadcast: make %s: %w", name, err)
		}
	}
	listings, err := r.read(dir)
	return packagedPart{dir, listings}, err
}

// makePackage runs ffmpeg in a directory.
func (l *Library) makePackage(ctx context.Context, r encoderRun, dir string) error {
	if r.encrypted {
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, keyFile), []byte(ffmpegKey), 0o644),
			os.WriteFile(filepath.Join(dir, keyInfo), []byte(keyFile+"\n"+keyFile+"\n"), 0o644))
		if err != nil {
			return err
		}
	}
	if _, err := testtools.FFmpeg(ctx, l.ffmpeg, dir, nil, r.arguments()...); err != nil {
		return err
	}
	if r.audio == HEAAC {
		return declareHEAAC(dir)
	}
	return nil
}

// read parses the playlists or the MPD that ffmpeg wrote to dir.
func (r encoderRun) read(dir string) (all []listing, err error) {
	if r.mpd != HLS {
		text, err := os.ReadFile(filepath.Join(dir, manifest))
		if err != nil {
			return nil, err
		}
		return readManifest(text, r.to-r.from)
	}
	playlists := []string{"0.m3u8"}
	switch {
	case r.container == Packed && r.video == NoVideo:
		playlists = []string{packedList}
	case r.container == Packed:
		playlists = append(playlists, packedList)
	case r.demuxed:
		playlists = append(playlists, "1.m3u8")
	}
	for _, name := range playlists {
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
