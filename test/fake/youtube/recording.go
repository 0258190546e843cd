package youtube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// Recording holds what the real yt-dlp printed about a live video. A stand-in prints it
// again for the videos of tests that are not about yt-dlp. That takes a fiftieth of the
// CPU time.
//
//	gateway ──runs──▶ stand-in ──GET /recording?v=ID──▶ fake ──▶ 200 the recording, with the id, the start
//	                     │                                        and new media URLs of this video
//	                     └──── runs the real yt-dlp ◀── 404 what yt-dlp prints would differ
type Recording struct {
	output     string
	id, title  string
	started    time.Time
	renditions []livestream.Rendition
}

const recordingPath = "/recording" // at the address of the proxy

// issueInURL matches the part of a media URL that each issue has for itself.
var issueInURL = regexp.MustCompile(`expire/\d+/ei/issue-\d+/`)

// Record makes a recording of what yt-dlp has just printed about a live video with
// --dump-json. Error: the output has no media URL.
func (y *Server) Record(id string, output []byte) (*Recording, error) {
	v := y.video(id)
	if v.Source == nil || !issueInURL.Match(output) {
		return nil, errors.New("youtube: record: yt-dlp printed no media URL of a live video")
	}
	return &Recording{output: string(output), id: id, title: v.Title, started: v.Started, renditions: v.Source.Renditions()}, nil
}

// StandIn writes a program that stands in for yt-dlp and returns its path. It prints r
// about the videos of [Server.Replay], and otherwise, and without curl, runs the real tool.
func (y *Server) StandIn(realTool string, r *Recording) (path string, err error) {
	y.mu.Lock()
	y.recording = r
	y.mu.Unlock()
	path = filepath.Join(y.dir, "yt-dlp")
	script := fmt.Sprintf(`#!/bin/sh
for url; do :; done
case "$*" in *" --dump-json -- "*) curl --silent --fail --noproxy '*' "%s%s?v=${url##*=}" && exit ;; esac
exec '%s' "$@"
`, y.Proxy(), recordingPath, realTool)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		return "", fmt.Errorf("youtube: stand-in: %w", err)
	}
	return path, nil
}

// Replay lets the stand-in print the recording about a video. The video must be live, with
// the renditions of the recorded one and without a fault in what yt-dlp would request.
func (y *Server) Replay(id string) { y.change(id, func(e *entry) { e.replay = true }) }

// serveRecording answers the stand-in. An answer counts as a request for the watch page.
func (y *Server) serveRecording(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("v")
	y.mu.Lock()
	defer y.mu.Unlock()
	e, was := y.videos[id], y.recording
	if e == nil || was == nil || !y.replays(e) {
		http.NotFound(w, r)
		return
	}
	y.requests = append(y.requests, Request{At: time.Now(), Class: Watch, Video: id, Path: r.URL.Path})
	e.issue++
	unix := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	answer := strings.NewReplacer(was.id, id, unix(was.started), unix(e.Started)).Replace(was.output)
	issue := fmt.Sprintf("expire/%s/ei/issue-%d/", unix(time.Now().Add(expiry)), e.issue)
	_, _ = io.WriteString(w, issueInURL.ReplaceAllLiteralString(answer, issue))
}

// replays reports whether yt-dlp would print the recording about a video. y.mu is held.
func (y *Server) replays(e *entry) bool {
	if !e.replay || e.State != Live || e.Title != y.recording.title || e.Source == nil || !slices.Equal(e.Source.Renditions(), y.recording.renditions) {
		return false
	}
	return e.Source.Fault(livestream.Masters) == nil && !slices.ContainsFunc(y.faults, func(i *injectedFault) bool {
		return i.class != Playlist && i.class != Segment && i.class != OEmbed
	})
}
