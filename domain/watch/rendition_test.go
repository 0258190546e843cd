package watch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// watchRenditions gives a watcher these renditions, and answers the tasks of its
// media lane. The playlists in lists are master playlists; any other has one
// segment. It returns the watcher and the URLs of the media playlists read.
func watchRenditions(t *testing.T, r watch.Rules, found []watch.Rendition, lists map[string][]watch.Rendition, see func(*watch.Analysis)) (*watch.Watcher, string) {
	t.Helper()
	w := watch.New(r, at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Renditions: found})
	var read []string
	for range 12 {
		for _, task := range w.Next() {
			switch {
			case task.At.After(at(0)):
			case task.Kind == watch.TaskPlaylist && lists[task.URL] != nil:
				w.Step(at(0), watch.Playlist{Began: at(0), URL: task.URL, Renditions: lists[task.URL]})
			case task.Kind == watch.TaskPlaylist:
				read = append(read, task.URL)
				w.Step(at(0), watch.Playlist{Began: at(0), URL: task.URL, TargetDuration: 2 * time.Second, Segments: []watch.Segment{{URI: task.URL + "/1", Duration: 2 * time.Second}}})
			case task.Kind == watch.TaskSegment:
				a := watch.Analysis{Began: at(0), Segment: task.Segment.ID(), Video: decoded, Audio: decoded}
				if see != nil {
					see(&a)
				}
				w.Step(at(0), a)
			}
		}
	}
	return w, strings.Join(read, " ")
}

func TestTheRenditionsWatchedFollowThePreference(t *testing.T) { // S8
	both := func(url string, height int) watch.Rendition {
		return watch.Rendition{URL: url, Height: height, Bandwidth: 1000 - height, HasVideo: true, HasAudio: true}
	}
	video := func(url string, height int) watch.Rendition {
		return watch.Rendition{URL: url, Height: height, HasVideo: true}
	}
	audio := func(url string, bandwidth int) watch.Rendition {
		return watch.Rendition{URL: url, Bandwidth: bandwidth, HasAudio: true}
	}
	foreign := func(url string, bandwidth int) watch.Rendition {
		return watch.Rendition{URL: url, Bandwidth: bandwidth, HasAudio: true, Alternate: true}
	}
	type list = []watch.Rendition
	for _, c := range []struct {
		name           string
		all            list
		smallest, best string
	}{
		{"both tracks together", list{both("360", 360), both("144", 144), both("720", 720)}, "144", "720"},
		{"together is better than apart", list{video("144", 144), audio("a", 1), both("360", 360)}, "360", "360"},
		{"of one height by bandwidth", list{{URL: "b", Height: 144, Bandwidth: 200, HasVideo: true, HasAudio: true}, {URL: "a", Height: 144, Bandwidth: 100, HasVideo: true, HasAudio: true}}, "a", "b"},
		{"apart", list{video("360", 360), video("144", 144), audio("high", 2), audio("low", 1)}, "144 low", "360 high"},
		{"apart at one URL", list{video("u", 144), audio("u", 1)}, "u", "u"},
		{"the stream's own sound", list{video("144", 144), foreign("commentary", 1), audio("own", 2)}, "144 own", "144 own"},
		{"a foreign sound, if there is no other", list{video("144", 144), foreign("commentary", 1)}, "144 commentary", "144 commentary"},
		{"pictures alone", list{video("360", 360), video("144", 144)}, "144", "360"},
		{"sound alone as Twitch's audio_only, beside pictures", list{audio("audio_only", 1), both("720", 720), both("144", 144)}, "144", "720"},
		{"sound alone", list{audio("high", 2), audio("low", 1)}, "low", "high"},
		{"a size that is not stated is large, and never the best", list{{URL: "?", HasVideo: true, HasAudio: true}, both("144", 144)}, "144", "144"},
		{"neither", list{{URL: "subtitles"}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for prefer, want := range map[watch.RenditionPreference]string{watch.Smallest: c.smallest, watch.Best: c.best} {
				r := rules()
				r.Prefer = prefer
				if _, got := watchRenditions(t, r, c.all, nil, nil); got != want {
					t.Errorf("%s: reads %q, want %q", prefer, got, want)
				}
			}
		})
	}
	t.Run("a stream of one track lacks the other", func(t *testing.T) { // S4
		w, _ := watchRenditions(t, rules(), list{audio("a", 1)}, nil, func(a *watch.Analysis) { a.Video = detector.DecodedTrack{} })
		if h := w.Report().Health; h.Video != monitor.Black || h.Audio != monitor.OK {
			t.Errorf("sound alone: %+v", h)
		}
		w, _ = watchRenditions(t, rules(), list{video("v", 144)}, nil, func(a *watch.Analysis) { a.Audio = detector.DecodedTrack{} })
		if h := w.Report().Health; h.Video != monitor.OK || h.Audio != monitor.Silent {
			t.Errorf("pictures alone: %+v", h)
		}
	})
	t.Run("a rendition may turn out to be a list", func(t *testing.T) {
		apart := list{video("v", 144), audio("a", 1)}
		if _, got := watchRenditions(t, rules(), apart, map[string]list{"v": {video("v2", 144), audio("a2", 1)}}, nil); got != "v2 a" {
			t.Errorf("of its own track: reads %q", got)
		}
		w, got := watchRenditions(t, rules(), apart, map[string]list{"v": {both("m", 144)}}, func(a *watch.Analysis) {
			if strings.HasPrefix(a.Segment, "m/") {
				a.Audio = detector.DecodedTrack{}
			}
		})
		if h := w.Report().Health; got != "m a" || h.Video != monitor.OK || h.Audio != monitor.OK {
			t.Errorf("of both tracks: reads %q, %+v", got, h)
		}
	})
}
