package broadcast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"time"
)

// Handler serves the file that Entry names and every file that it refers to by
// relative URLs. A segment that is not on the air yet is 404. A low-latency request
// for it blocks where the playlist allows that.
func (b *Broadcast) Handler() http.Handler {
	mux := http.NewServeMux()
	if b.shape.MPD != HLS {
		mux.HandleFunc("GET /"+manifest, func(w http.ResponseWriter, _ *http.Request) {
			write(w, "application/dash+xml", []byte(b.mpdText()))
		})
	} else {
		mux.HandleFunc("GET /"+master, func(w http.ResponseWriter, _ *http.Request) {
			write(w, "application/vnd.apple.mpegurl", []byte(b.masterText()))
		})
	}
	for i := range b.tracks {
		t := &b.tracks[i]
		if b.shape.MPD == HLS {
			mux.HandleFunc("GET /"+t.path(), func(w http.ResponseWriter, r *http.Request) {
				b.blockReload(r, t)
				write(w, "application/vnd.apple.mpegurl", []byte(b.playlistText(t)))
			})
		}
		mux.HandleFunc(fmt.Sprintf("GET /itag/%d/{name}", t.itag), func(w http.ResponseWriter, r *http.Request) { b.resource(w, r, t) })
	}
	return mux
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// blockReload waits until the playlist has the segment or part of _HLS_msn and _HLS_part.
func (b *Broadcast) blockReload(r *http.Request, t *track) {
	msn, err := strconv.Atoi(r.URL.Query().Get("_HLS_msn"))
	if err != nil || !b.shape.Parts || msn < 0 || msn >= len(t.segments) {
		return
	}
	due := t.segments[msn].end()
	if i, err := strconv.Atoi(r.URL.Query().Get("_HLS_part")); err == nil && i >= 0 && i < len(t.segments[msn].pieces) {
		due = t.segments[msn].at
		for _, piece := range t.segments[msn].pieces[:i+1] {
			due += piece.duration
		}
	}
	b.waitUntil(r.Context(), due)
}

// waitUntil waits until due, unless that is more than three segments away.
func (b *Broadcast) waitUntil(ctx context.Context, due time.Duration) {
	wait := due - b.elapsed()
	if wait <= 0 || wait > 3*b.shape.Segment {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// resource serves segments, parts, init sections, keys and single files.
func (b *Broadcast) resource(w http.ResponseWriter, r *http.Request, t *track) {
	kind, n, m, hasM, ok := parseName(r.PathValue("name"))
	var (
		body []byte
		err  = errNotFound
	)
	switch {
	case !ok:
	case kind == "seg" && hasM:
		body, err = b.part(r.Context(), t, n, m)
	case kind == "seg" && b.shape.MPD != HLS:
		body, err = b.segment(t, n-1) // numbers begin with 1
	case kind == "seg":
		body, err = b.segment(t, n)
	case kind == "time":
		body, err = b.segment(t, t.indexOf(int64(n)))
	case kind == "init":
		body, err = b.init(t, n, m, hasM)
	case kind == "key" && b.shape.Keys != Clear:
		body, err = secret(b.shape.Keys, n), nil
	case kind == "media" && b.shape.SingleFile:
		body, err = b.file(t, n)
	}
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, fs.ErrNotExist):
		b.recordNotFound(r.PathValue("name"))
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}
