package worker_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// ladder is a stream of two renditions. Segments of the larger one have 10 MiB, and are slow.
type ladder struct {
	*fakeStream
	checks, looks atomic.Int32
	read          atomic.Int64 // bytes of the larger one
	ads           bool         // the larger one lists advertisements
}

func (l *ladder) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	p := l.fakeStream.ReadPlaylist(ctx, url)
	if url == "https://media.test/list.m3u8" {
		rendition := watch.Rendition{URL: "https://media.test/144p", Height: 144, HasVideo: true, HasAudio: true}
		larger := rendition
		larger.URL, larger.Height = "https://media.test/720p", 720
		return watch.Playlist{URL: url, Renditions: []watch.Rendition{rendition, larger}}
	}
	for i := range p.Segments {
		p.Segments[i].URI += "?" + url
		p.Segments[i].Ad = l.ads && strings.Contains(url, "720p")
	}
	return p
}

func (l *ladder) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	body, err := l.fakeStream.FetchSegment(ctx, s)
	if strings.Contains(s.URI, "720p") {
		body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(zeros{&l.read}, 10<<20), body}
	}
	return body, err
}

// zeros counts the bytes that are read of it.
type zeros struct{ read *atomic.Int64 }

func (z zeros) Read(p []byte) (int, error) {
	z.read.Add(int64(len(p)))
	return len(p), nil
}

func (l *ladder) Analyse(ctx context.Context, s watch.Segment, look watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	if strings.Contains(s.URI, "720p") != look.KeyFrames {
		return watch.Analysis{}, watch.NewFailure(watch.FailureTool, "another look than was asked for")
	}
	if !look.KeyFrames {
		l.checks.Add(1)
		return l.fakeStream.Analyse(ctx, s, look, body, setting)
	}
	l.looks.Add(1)
	_, _ = io.Copy(io.Discard, body)
	time.Sleep(15 * time.Second)
	return l.fakeStream.Analyse(ctx, s, look, body, setting)
}

func TestALookAtAnotherRenditionDelaysNoCheckAndReadsItsBeginning(t *testing.T) { // decisions S16, S22
	d := detectortest.Optional
	d.Track, d.Needs = detector.Video, detector.Renditions
	detectortest.Add(t, d)
	synctest.Test(t, func(t *testing.T) {
		g, l := newFakeGateway(), &ladder{fakeStream: &fakeStream{}}
		g.config.SetThresholdSec(d.Name, 20)
		p := ports(l.fakeStream, g)
		p.Playlists, p.Segments, p.Analyser = l, l, l
		stop := runWorker(t, p)
		time.Sleep(3 * time.Minute)
		renditions := g.lastReport().Health.Renditions
		stop()
		if checks, looks := l.checks.Load(), l.looks.Load(); checks < 85 || looks < 5 || looks > 9 {
			t.Errorf("%d checks, each 2 s, and %d looks, each 20 s, in 3 minutes", checks, looks)
		} else if read := l.read.Load(); read > int64(looks)*(1<<20+64<<10) {
			t.Errorf("%d looks have read %d bytes", looks, read)
		}
		if !slices.ContainsFunc(renditions, func(r monitor.RenditionState) bool { return r.Height == 720 && r.State == detector.RenditionOK }) {
			t.Errorf("health has %+v", renditions)
		}
		if opened, closed := l.opened.Load(), l.closed.Load(); opened != closed {
			t.Errorf("%d segments were opened, %d closed", opened, closed)
		}
	})
}

func TestAnAdvertisementOfAnotherRenditionIsNotFetched(t *testing.T) { // decisions S22, S26
	d := detectortest.Optional
	d.Track, d.Needs = detector.Video, detector.Renditions
	detectortest.Add(t, d)
	synctest.Test(t, func(t *testing.T) {
		g, l := newFakeGateway(), &ladder{fakeStream: &fakeStream{}, ads: true}
		g.config.SetThresholdSec(d.Name, 20)
		p := ports(l.fakeStream, g)
		p.Playlists, p.Segments, p.Analyser = l, l, l
		stop := runWorker(t, p)
		time.Sleep(2 * time.Minute)
		renditions := g.lastReport().Health.Renditions
		stop()
		if looks := l.looks.Load(); looks > 0 {
			t.Errorf("%d segments were decoded", looks)
		}
		if !slices.ContainsFunc(renditions, func(r monitor.RenditionState) bool { return r.Height == 720 && r.State == detector.RenditionUnknown }) {
			t.Errorf("health has %+v", renditions)
		}
	})
}
