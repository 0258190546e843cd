package acceptance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// place is where a stream can stand still, and what an alert calls it.
type place struct {
	name, failure string
	begin, end    func(*show, *incomplete)
}

// still is where nothing comes any more.
var still = []place{
	{
		"the playlist", "stalled",
		func(p *show, _ *incomplete) { p.Freeze(true) },
		func(p *show, _ *incomplete) { p.Freeze(false) },
	},
	{
		"the server of the playlists", "manifest",
		func(p *show, _ *incomplete) { p.Fail(livestream.Playlists, httpfault.Hang()) },
		func(p *show, _ *incomplete) { p.Heal(livestream.Playlists) },
	},
	{
		"the server of the segments", "segment",
		func(p *show, _ *incomplete) { p.Fail(livestream.Segments, httpfault.Hang()) },
		func(p *show, _ *incomplete) { p.Heal(livestream.Segments) },
	},
}

// refused is where something comes that is of no use.
var refused = []place{
	{
		"all segments answer 500", "segment",
		func(p *show, _ *incomplete) { p.Fail(livestream.Segments, httpfault.Status(500)) },
		func(p *show, _ *incomplete) { p.Heal(livestream.Segments) },
	},
	{
		"all renditions are gone, and still listed", "manifest",
		func(_ *show, s *incomplete) { s.set(false, livestream.Muxed144p, livestream.Muxed360p) },
		func(_ *show, s *incomplete) { s.set(false) },
	},
	{
		"all renditions are gone, and no longer listed", "manifest",
		func(_ *show, s *incomplete) { s.set(true, livestream.Muxed144p, livestream.Muxed360p) },
		func(_ *show, s *incomplete) { s.set(false) },
	},
}

// standstill is a stream that stands still at a place.
type standstill struct {
	place
	*show
	source *incomplete
}

// freeze puts a stream on the air for each place, and has all stand still.
func freeze(t *testing.T, places []place) (cases []standstill, began time.Time) {
	t.Helper()
	for _, place := range places {
		p, source := lossy(t, livestream.Config{})
		cases = append(cases, standstill{place, p, source})
	}
	began = time.Now()
	for _, c := range cases {
		c.begin(c.show, c.source)
	}
	return cases, began
}

func TestTroubleForTooLong(t *testing.T) { // 6.6, 7.6, S6
	t.Parallel()
	cases, began := freeze(t, slices.Concat(still, refused))
	for _, c := range cases {
		c.in(t, c.name, func(*testing.T) { c.broken(began, c.failure, outage+25*time.Second) })
	}
	cases[0].lasts(began, 75*time.Second)
	for _, c := range cases {
		c.end(c.show, c.source)
	}
	for _, c := range cases {
		c.in(t, c.name+", no more", func(t *testing.T) {
			c.healthy(75 * time.Second)
			if lengths := c.back(); len(lengths) == 0 || lengths[len(lengths)-1] < 70 {
				t.Errorf("the log says that outages are over of %v s", lengths)
			}
			c.darken()
		})
	}
	for _, c := range cases {
		c.in(t, c.name+", gone black", func(*testing.T) {
			c.blackout(0)
			c.ends(broke, blackout, recovered)
		})
	}
}

func TestTroubleForAWhile(t *testing.T) { // 6.6
	t.Parallel()
	cases, began := freeze(t, still)
	pause(t.Context(), 29*time.Second)
	for _, c := range cases {
		c.in(t, c.name+" after half a minute", func(t *testing.T) {
			if v := c.health(); v != "ok" {
				t.Errorf("the picture is said to be %v", v)
			}
		})
	}
	cases[0].lasts(began, 30*time.Second)
	for _, c := range cases {
		c.end(c.show, c.source)
		c.darken()
	}
	for _, c := range cases {
		c.in(t, c.name, func(t *testing.T) {
			c.blackout(0)
			c.ends(blackout, recovered)
			if n := c.asked(); n != 1 {
				t.Errorf("yt-dlp was asked %d times; that it should be was not due yet", n)
			}
		})
	}
}
