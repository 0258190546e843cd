package livestream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// The names of files.
const (
	master   = "master.m3u8"
	manifest = "manifest.mpd"
	initName = "init.mp4"
)

func segmentName(n int64, r Rendition, p Packaging) string {
	return fmt.Sprintf("seg-%d%s", n, extension(r, p))
}

func fileName(r Rendition, p Packaging) string { return "media" + extension(r, p) }

func extension(r Rendition, p Packaging) string {
	switch {
	case r.isText():
		return ".vtt"
	case p.Container == FMP4:
		return ".m4s"
	case p.Container == Packed && !r.HasVideo():
		return ".aac"
	}
	return ".ts"
}

// Entry returns the path of the manifest that a player is given.
func (s *Stream) Entry() string {
	switch p := s.config.Packaging; {
	case p.DASH != HLS:
		return manifest
	case p.MediaEntry:
		return playlistPath(s.config.Renditions[0])
	}
	return master
}

func playlistPath(r Rendition) string { return fmt.Sprintf("itag/%d/index.m3u8", r.Itag) }

// Handler serves the file that Entry names and every file that it refers to by relative URLs, with
// the faults of the stream. A segment that is not published yet is 404.
func (s *Stream) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /"+master, func(w http.ResponseWriter, _ *http.Request) {
		WritePlaylist(w, MasterText(s.Renditions(), playlistPath))
	})
	mux.HandleFunc("GET /"+manifest, func(w http.ResponseWriter, _ *http.Request) {
		write(w, "application/dash+xml", []byte(s.mpdText()))
	})
	mux.HandleFunc("GET /itag/{itag}/{name}", func(w http.ResponseWriter, r *http.Request) {
		itag, _ := strconv.Atoi(r.PathValue("itag"))
		rendition, err := s.rendition(itag)
		var body []byte
		if err == nil {
			body, err = s.resource(r.Context(), rendition, r.PathValue("name"))
		}
		switch {
		case err != nil:
			s.mu.Lock()
			s.notFound = append(s.notFound, r.PathValue("name"))
			s.mu.Unlock()
			WriteSegment(w, nil, err)
		case path.Ext(r.URL.Path) == ".m3u8":
			WritePlaylist(w, string(body))
		default:
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // with ranges
		}
	})
	return httpfault.Wrap(mux, func(r *http.Request) httpfault.Fault {
		s.Began()
		rest, isMedia := strings.CutPrefix(r.URL.Path, "/itag/")
		if !isMedia {
			return s.Fault(Masters)
		}
		part := Segments
		if path.Ext(rest) == ".m3u8" {
			part = Playlists
		}
		name, _, _ := strings.Cut(rest, "/")
		itag, _ := strconv.Atoi(name)
		return s.timeline.of(itag).fault(s.offset(), part)
	})
}

// resource returns the playlist, segment, part, init section or key of a name.
func (s *Stream) resource(ctx context.Context, r Rendition, name string) ([]byte, error) {
	p := s.config.Packaging
	kind, rest, _ := strings.Cut(strings.TrimSuffix(name, path.Ext(name)), "-")
	n, err := strconv.ParseInt("0"+rest, 10, 63)
	switch {
	case err != nil:
	case name == "index.m3u8":
		playlist, err := s.playlist(ctx, r.Itag)
		return []byte(playlist.Text(func(e Entry) string { return e.name })), err
	case name == initName && p.Container == FMP4:
		init, _, err := s.media(ctx, r, 0)
		return init, err
	case name == fileName(r, p) && p.SingleFile:
		all, _, err := s.file(ctx, r)
		return all, err
	case kind == "key" && p.Keys != Clear:
		return secret("key", n), nil
	case kind == "seg" && !p.SingleFile:
		return s.Segment(ctx, r.Itag, uint64(n))
	case kind == "time":
		for number := range s.published(r.Itag, s.offset()) {
			if s.timeOf(r, number) == n {
				return s.Segment(ctx, r.Itag, uint64(number))
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNotFound)
}

// WritePlaylist writes a playlist as the response.
func WritePlaylist(w http.ResponseWriter, text string) {
	write(w, "application/vnd.apple.mpegurl", []byte(text))
}

// WriteSegment writes the result of [Stream.Segment] as the response: 404 for
// ErrNotFound, 500 for any other error.
func WriteSegment(w http.ResponseWriter, b []byte, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		write(w, "application/octet-stream", b)
	}
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
