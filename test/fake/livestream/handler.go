package livestream

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// Handler serves the stream over plain HTTP, for tests that do not need YouTube:
// /master.m3u8, /ITAG/index.m3u8 and /ITAG/SEQUENCE.ts. Faults of the stream
// apply.
func (s *Stream) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /master.m3u8", s.withFault(Masters, func(w http.ResponseWriter, _ *http.Request) {
		WritePlaylist(w, MasterText(s.Renditions(), func(r Rendition) string { return fmt.Sprintf("%d/index.m3u8", r.Itag) }))
	}))
	mux.Handle("GET /{itag}/index.m3u8", s.withFault(Playlists, func(w http.ResponseWriter, r *http.Request) {
		itag, _ := strconv.Atoi(r.PathValue("itag"))
		p, err := s.Playlist(itag)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		WritePlaylist(w, p.Text(func(e Entry) string { return fmt.Sprintf("%d.ts", e.Sequence) }))
	}))
	mux.Handle("GET /{itag}/{name}", s.withFault(Segments, func(w http.ResponseWriter, r *http.Request) {
		itag, _ := strconv.Atoi(r.PathValue("itag"))
		n, err := strconv.ParseUint(strings.TrimSuffix(r.PathValue("name"), ".ts"), 10, 63)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		b, err := s.Segment(r.Context(), itag, n)
		WriteSegment(w, b, err)
	}))
	return mux
}

func (s *Stream) withFault(part Part, h http.HandlerFunc) http.Handler {
	return httpfault.Wrap(h, func(*http.Request) httpfault.Fault { return s.Fault(part) })
}

// WritePlaylist writes a playlist as the response.
func WritePlaylist(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write([]byte(text))
}

// WriteSegment writes the result of [Stream.Segment] as the response: 404 for
// ErrNotFound, 500 for any other error.
func WriteSegment(w http.ResponseWriter, b []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), httpStatus(err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
}

func httpStatus(err error) int {
	if errors.Is(err, ErrNotFound) {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}
