package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// address is where the playlist seems to be.
const address = "https://media.test/live/index.m3u8"

// playlist is the live playlist at this moment, written as a packager writes
// it and read as the worker reads it.
func (p *playback) playlist(ctx context.Context) (watch.Playlist, error) {
	read, err := p.format.Decode(ctx, []byte(p.text()), manifest.Origin{URL: address}, "")
	if err != nil {
		err = fmt.Errorf("read the playlist: %w", err)
	}
	return read, err
}

func (p *playback) text() string {
	since := p.now.Sub(epoch) - latency
	target := p.clip.Item.Target()
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n", int(target.Seconds()))
	listed := false
	for n, s := range p.clip.Segments {
		if s.End() > since || s.Start < since-window-target {
			continue
		}
		if !listed {
			fmt.Fprintf(&b, "#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-PROGRAM-DATE-TIME:%s\n", n, epoch.Add(s.Start).Format("2006-01-02T15:04:05.000Z07:00"))
			listed = true
		}
		fmt.Fprintf(&b, "#EXTINF:%.6f,\n%s\n", s.Duration.Seconds(), s.Name)
	}
	if !p.now.Before(p.endListAt) {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}
