package corpus_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// item returns an item of the corpus by its name.
func item(t *testing.T, name string) corpus.Item {
	t.Helper()
	for _, i := range corpus.Items() {
		if i.Name == name {
			return i
		}
	}
	t.Fatalf("no item %q", name)
	return corpus.Item{}
}

// openEmpty opens a library with an empty cache.
func openEmpty(t *testing.T) (*corpus.Library, string) {
	t.Helper()
	dir := t.TempDir()
	l, err := corpus.Open(corpus.Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

// shortItem returns an item of 4 s.
func shortItem(t *testing.T) corpus.Item {
	t.Helper()
	i := item(t, "night, 30 %")
	i.Length = 4
	return i
}

func TestConcurrentCallersShareOneClip(t *testing.T) {
	short := shortItem(t)
	l, dir := openEmpty(t)
	clips := make(chan corpus.Clip)
	for range 3 {
		go func() {
			c, err := l.Clip(t.Context(), short)
			if err != nil {
				t.Error(err)
			}
			clips <- c
		}()
	}
	first := <-clips
	for range 2 {
		if c := <-clips; !reflect.DeepEqual(c, first) {
			t.Error("two callers got different clips")
		}
	}
	if len(first.Segments) != 2 || first.Length() != 4*time.Second {
		t.Errorf("%d segments, %v", len(first.Segments), first.Length())
	}
	if names := entries(t, dir); len(names) != 1 || strings.HasPrefix(names[0], ".") {
		t.Errorf("the cache has %q", names)
	}
}

func TestAClipOfAnotherLibraryOnTheSameCacheIsLoaded(t *testing.T) {
	short := shortItem(t)
	l, dir := openEmpty(t)
	if l.Has(short) {
		t.Fatal("Has reports a clip that was never generated")
	}
	clip, err := l.Clip(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	other, err := corpus.Open(corpus.Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !other.Has(short) {
		t.Error("Has does not report the clip of the other library")
	}
	before := modified(t, dir)
	if c, err := other.Clip(t.Context(), short); err != nil || !reflect.DeepEqual(c, clip) {
		t.Errorf("the clip differs from that of the other library: %v", err)
	}
	if modified(t, dir) != before {
		t.Error("the clip was generated again")
	}
}

func TestADamagedClipIsGeneratedAgain(t *testing.T) {
	short := shortItem(t)
	l, dir := openEmpty(t)
	clip, err := l.Clip(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, entries(t, dir)[0], clip.Segments[1].Name)); err != nil {
		t.Fatal(err)
	}
	if c, err := l.Clip(t.Context(), short); err != nil || len(c.Segments) != 2 {
		t.Errorf("%d segments, %v", len(c.Segments), err)
	}
}

func TestItemsWithOtherPicturesHaveOtherClips(t *testing.T) {
	short := shortItem(t)
	l, dir := openEmpty(t)
	other := short
	other.Picture = item(t, "night, 13 %").Picture
	for _, i := range []corpus.Item{short, other} {
		if _, err := l.Clip(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if names := entries(t, dir); len(names) != 2 {
		t.Errorf("the cache has %q, want two clips", names)
	}
}

func TestAnErrorOfFFmpegNamesTheClip(t *testing.T) {
	short := shortItem(t)
	l, dir := openEmpty(t)
	broken := short
	broken.Sound = corpus.Sound{}
	if _, err := l.Clip(t.Context(), broken); err == nil || !strings.Contains(err.Error(), `make "night, 30 %"`) {
		t.Errorf("error %v", err)
	}
	if names := entries(t, dir); len(names) != 0 {
		t.Errorf("the cache has %q", names)
	}
}

func TestAMissingFFmpegIsAnErrorThatNamesMakeTools(t *testing.T) {
	_, err := corpus.Open(corpus.Options{CacheDir: t.TempDir(), FFmpeg: "no-such-ffmpeg"})
	if err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("error %v", err)
	}
}

func TestALossRemovesThePacketsOfOneTrackInItsSegmentsOnly(t *testing.T) {
	l := library(t)
	for _, i := range corpus.Items() {
		if i.Missing == nil {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			c, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.Segments {
				at := s.Start.Seconds()
				lost := at >= i.Missing.From && at < i.Missing.To
				tracks, media := countTracks(s.Bytes)
				want := 2
				if lost && !i.Missing.Announced {
					want = 1
				}
				if tracks != want {
					t.Errorf("segment at %v s: %d tracks are announced, want %d", at, tracks, want)
				}
				if want = 2; lost {
					want = 1
				}
				if media != want {
					t.Errorf("segment at %v s: %d tracks have packets, want %d", at, media, want)
				}
			}
		})
	}
}

// countTracks returns how many tracks the program map table (PID 0x1000) of an
// MPEG-TS announces, and how many tracks have packets.
func countTracks(ts []byte) (announced, media int) {
	pids := map[int]bool{}
	for ; len(ts) >= 188; ts = ts[188:] {
		switch pid := int(ts[1]&0x1f)<<8 | int(ts[2]); {
		case pid == 0x1000:
			section := ts[5:]
			end := 3 + (int(section[1]&0xf)<<8 | int(section[2])) - 4 // before its checksum
			announced = 0
			for at := 12 + (int(section[10]&0xf)<<8 | int(section[11])); at < end; announced++ {
				at += 5 + (int(section[at+3]&0xf)<<8 | int(section[at+4]))
			}
		case pid >= 0x100 && pid < 0x1000:
			pids[pid] = true
		}
	}
	return announced, len(pids)
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func modified(t *testing.T, dir string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, entries(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}
