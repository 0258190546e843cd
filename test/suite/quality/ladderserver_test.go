package quality_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// Of the playlists of ladders. The number of a segment is that of its place in the media, from lead on.
const (
	ladderWindow = 60.0 // seconds
	lead         = 1000
)

// ladderServer serves a ladder as it is at a time that the test sets.
type ladderServer struct {
	corpus.Ladder
	clips       map[string]corpus.Clip // by the quality and what it shows
	programTime bool                   // playlists state it

	mu       sync.Mutex
	now      float64        // seconds since the epoch
	masters  int            // answers with the master playlist
	requests map[string]int // by path
}

// newLadderServer makes the clips of a ladder.
func newLadderServer(t *testing.T, ladder corpus.Ladder, l *corpus.Library) *ladderServer {
	t.Helper()
	s := &ladderServer{Ladder: ladder, clips: map[string]corpus.Clip{}, requests: map[string]int{}}
	for _, q := range ladder.Playlists() {
		for at := 0.0; at < ladder.Length; at++ {
			what := ladder.Shows(q, at)
			if _, has := s.clips[q.Name+what]; has {
				continue
			}
			clip, err := l.Clip(t.Context(), ladder.Item(q, what))
			if err != nil {
				t.Fatal(err)
			}
			s.clips[q.Name+what] = clip
		}
	}
	return s
}

// at sets the time. It returns how long the answer for a path takes.
func (s *ladderServer) at(now time.Time, url string) (delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now.Sub(epoch).Seconds()
	for _, h := range s.Happens {
		if h.Kind == "slow" && h.Lasts(s.now) && strings.Contains(url, "/"+h.Quality+"/") {
			delay = clipTime(h.Delay)
		}
		if h.Kind == "playlist_hangs" && h.Lasts(s.now) && strings.Contains(url, "/"+h.Quality+"/") {
			delay = 20 * time.Second
		}
	}
	return delay
}

// happens returns what of a kind happens to a quality at a time, if anything does.
func (s *ladderServer) happens(kind, quality string, at float64) (corpus.Happening, bool) {
	for _, h := range s.Happens {
		if h.Kind == kind && h.Of(quality) && h.Lasts(at) {
			return h, true
		}
	}
	return corpus.Happening{}, false
}

// folder returns the folder of a quality's URLs.
func (s *ladderServer) folder(q string) string {
	if _, is := s.happens("renamed", q, s.now); is {
		return q + "-renamed"
	}
	return q
}

// handler serves the master playlist, the playlists and the segments, with what happens to them.
func (s *ladderServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /master.m3u8", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		livestream.WritePlaylist(w, s.master())
	})
	mux.HandleFunc("GET /{folder}/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		q, n, isSegment := s.named(r)
		switch {
		case q.Name == "":
			http.NotFound(w, r)
		case isSegment:
			livestream.WriteSegment(w, s.segment(q, n), nil)
		default:
			livestream.WritePlaylist(w, s.playlist(q))
		}
	})
	return httpfault.Wrap(mux, func(r *http.Request) httpfault.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.fault(r)
	})
}

// named returns what a request asks for: the playlist of a quality, or one of its segments.
func (s *ladderServer) named(r *http.Request) (q corpus.Quality, segment int, isSegment bool) {
	_, path, _ := strings.Cut(r.URL.Path, "/")
	folder, name, _ := strings.Cut(path, "/")
	n, err := strconv.Atoi(strings.TrimSuffix(name, ".ts"))
	for _, q := range s.Playlists() {
		if folder == s.folder(q.Name) {
			return q, n - lead, err == nil
		}
	}
	return corpus.Quality{}, 0, false
}

// fault returns what is wrong with the answer to a request; nil: nothing.
func (s *ladderServer) fault(r *http.Request) httpfault.Fault {
	q, segment, isSegment := s.named(r)
	at := s.now
	if isSegment {
		at = float64(segment) * q.Segment
	}
	s.requests[r.URL.Path]++
	for _, h := range s.Happens {
		if !h.Of(q.Name) || !h.Lasts(at) {
			continue
		}
		switch f := ofSegments[h.Kind]; {
		case h.Kind == "refused":
			return httpfault.HangUp()
		case isSegment && h.Kind == "segment_status", !isSegment && h.Kind == "playlist_status":
			return httpfault.Status(h.Status)
		case isSegment && f != nil:
			return f
		case isSegment:
		case h.Kind == "playlist_hangs":
			return httpfault.Hang()
		case h.Kind == "every_fourth_503" && s.requests[r.URL.Path]%4 == 0:
			return httpfault.Status(http.StatusServiceUnavailable)
		case h.Kind == "tokens":
			_, issued, _ := strings.Cut(r.URL.Query().Get("token"), "-")
			if issuedAt, err := strconv.Atoi(issued); err != nil || s.now-float64(issuedAt) > h.TokensValidFor {
				return httpfault.Status(http.StatusForbidden)
			}
		}
	}
	return nil
}

// ofSegments are the faults of segments by the name of what happens.
var ofSegments = map[string]httpfault.Fault{
	"broken_off":    httpfault.Truncate(),
	"empty_segment": httpfault.Text(""),
	"html":          httpfault.Text("<!DOCTYPE html><html><body><h1>Please try again later</h1></body></html>\n"),
	"garbage": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		body := make([]byte, 100_000)
		_, _ = rand.NewChaCha8(sha256.Sum256([]byte(r.URL.Path))).Read(body)
		_, _ = w.Write(body)
	},
}

// master returns the master playlist.
func (s *ladderServer) master() string {
	s.masters++
	var b strings.Builder
	b.WriteString("#EXTM3U\n")
	sound := ""
	if s.AudioGroup {
		sound = `,AUDIO="sound"`
		b.WriteString("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"sound\",DEFAULT=YES,AUTOSELECT=YES,URI=\"audio/index.m3u8\"\n")
	}
	qualities := s.Qualities
	if _, is := s.happens("order_changes", "all", s.now); is && s.masters%2 == 0 {
		qualities = nil
		for i := range s.Qualities {
			qualities = append(qualities, s.Qualities[i^1])
		}
	}
	for _, q := range qualities {
		if _, is := s.happens("not_in_master", q.Name, s.now); is {
			continue
		}
		codecs := map[string]string{"h264": "avc1.64001f,mp4a.40.2", "hevc": "hvc1.1.6.L120.90,mp4a.40.2", "av1": "av01.0.08M.08,mp4a.40.2", "aac": "mp4a.40.2"}[q.Codec]
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,CODECS=%q", q.Kbps*1000+64_000, codecs)
		if !q.AudioOnly {
			fmt.Fprintf(&b, ",RESOLUTION=%dx%d,FRAME-RATE=%d%s", q.Width, q.Height, q.FPS, sound)
		}
		token := ""
		if _, is := s.happens("tokens", q.Name, s.now); is {
			token = fmt.Sprintf("?token=%d-%d", s.masters, int(s.now))
		}
		fmt.Fprintf(&b, "\n%s/index.m3u8%s\n", s.folder(q.Name), token)
	}
	if _, is := s.happens("iframe_404", "all", s.now); is {
		b.WriteString("#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,CODECS=\"avc1.64001f\",RESOLUTION=640x360,URI=\"iframes/index.m3u8\"\n")
	}
	return b.String()
}

// edge returns how far the media of a quality are published, in seconds, and whether they have ended.
func (s *ladderServer) edge(q corpus.Quality) (edge float64, ended bool) {
	edge = s.now
	for _, h := range s.Happens {
		switch {
		case !h.Of(q.Name) || s.now < h.From:
		case h.Kind == "lag":
			edge = s.now - h.Lag
			if h.From > 0 {
				edge = max(h.From, edge)
			}
		case h.Kind == "half_pace":
			edge = h.From + (s.now-h.From)/2
		case h.Kind == "stalled" && h.Lasts(s.now), h.Kind == "ended":
			edge, ended = h.From, h.Kind == "ended"
		}
	}
	return edge - latency.Seconds(), ended
}

// playlist returns the media playlist of a quality.
func (s *ladderServer) playlist(q corpus.Quality) string {
	edge, ended := s.edge(q)
	end := int(math.Floor(edge / q.Segment))
	first, number := end-int(math.Ceil(ladderWindow/q.Segment)), func(n int) int { return n + lead + q.FirstSequence }
	var cuts []int // segments after a discontinuity
	for _, h := range s.Happens {
		from := int(math.Ceil(h.From / q.Segment))
		switch {
		case h.Kind == "empty_playlist" && h.Of(q.Name) && h.Lasts(s.now):
			first = end
		case h.Kind == "ads":
			cuts = append(cuts, from, int(math.Ceil(h.To/q.Segment)))
		case h.Kind == "sequence_reset" && end > from:
			cuts = append(cuts, from)
			first, number = max(first, from), func(n int) int { return n - from }
		}
	}
	list := livestream.Playlist{Target: clipTime(q.Segment), Ended: ended, First: uint64(number(first))}
	for n := first; n < end; n++ {
		e := livestream.Entry{Sequence: uint64(number(n)), Duration: clipTime(q.Segment), Discontinuity: slices.Contains(cuts, n)}
		if s.programTime && (n == first || e.Discontinuity) {
			e.ProgramTime = epoch.Add(clipTime(float64(n) * q.Segment))
		}
		list.Entries = append(list.Entries, e)
	}
	n := first - 1
	return list.Text(func(livestream.Entry) string { n++; return fmt.Sprintf("%d.ts", n+lead) })
}

// segment returns the bytes of a segment of a quality.
func (s *ladderServer) segment(q corpus.Quality, n int) []byte {
	at := max(0, float64(n)*q.Segment)
	all := s.clips[q.Name+s.Shows(q, at)].Segments
	body := all[(n+lead)%len(all)].Bytes
	if _, is := s.happens("truncated", q.Name, at); is {
		body = body[:len(body)/10]
	}
	return body
}
