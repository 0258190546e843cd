package ytdlp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	source "github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	listedChannel = "UCabcdefghijklmnopqrstuv"
	listedHandle  = "@some-channel"
	listedAddress = "https://www.youtube.com/channel/" + listedChannel
)

// addChannel adds the channel of the tests, with so many streams to come and after them some that ended.
func addChannel(y *youtube.Server, c youtube.Channel, upcoming, ended int) {
	c.Handle, c.Title = listedHandle, "Some Channel"
	y.AddChannel(listedChannel, c)
	for n, state := range map[int]youtube.State{upcoming: youtube.Upcoming, ended: youtube.Ended} {
		for i := range n {
			y.Add(fmt.Sprintf("%.4s-%06d", state, i), youtube.Video{State: state, Channel: listedChannel})
		}
	}
}

func TestTheRealToolListsEveryStateInBothLayouts(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		y := pythontooltest.YouTube(t)
		resolver := newResolver(ytdlp.Config{})
		for i, state := range youtube.States() {
			y.Add(fmt.Sprintf("%.8s%03d", state+"--------", i), youtube.Video{State: state, Channel: listedChannel, Scheduled: noon, Started: noon, MembersOnly: state == youtube.Live})
		}
		for layout, start := range map[youtube.Layout]string{youtube.Lockup: "", youtube.Renderer: " 12:00"} {
			addChannel(y, youtube.Channel{Layout: layout}, 0, 0)
			got := must.Get(resolver.List(t.Context(), map[youtube.Layout]string{youtube.Lockup: "https://www.youtube.com/user/some-channel", youtube.Renderer: listedAddress}[layout]))(t)
			states := map[string]string{}
			for _, s := range got.Streams {
				name := strings.TrimRight(s.URL.ID()[:8], "-")
				states[name] = string(s.State)
				if !s.ScheduledStart.IsZero() {
					states[name] += s.ScheduledStart.Format(" 15:04")
				}
				if s.MembersOnly {
					states[name] += " members"
				}
			}
			expect.Equal(t, "the states", states, map[string]string{
				"upcoming": "upcoming" + start, "premiere": "upcoming" + start, "live": "live members", "offline": "live",
				"ended": "ended", "post_liv": "ended", "archived": "ended", "no_recor": "ended",
				"members": "live members", "region": "live", "age": "live", "bot_chec": "live", "rate_lim": "live", "captcha": "live", // no mark tells what the player says
			})
			if n := len(got.Streams); got.ID != listedChannel || got.Handle != listedHandle || got.Title != "Some Channel" || got.By != "yt-dlp" || got.Partial || n != 14 {
				t.Errorf("%d streams of %+v", n, got)
			}
		}
	})
}

// realTool returns a resolver of the real yt-dlp in forks, confined as in the product.
func realTool(t *testing.T) *ytdlp.Resolver {
	t.Helper()
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	server := ytdlp.NewForkServer(path, []string{}, discardLog)
	t.Cleanup(server.Close)
	return ytdlp.New(ytdlp.Config{Site: source.Site(stream.Choices{}), Path: path, Files: []string{}, ForkServer: server}, discardLog)
}

func TestTheRealToolSaysWhyAChannelCannotBeListed(t *testing.T) {
	y := pythontooltest.YouTube(t)
	resolver := realTool(t)
	for name, c := range map[string]struct {
		channel youtube.Channel
		address string
		fault   httpfault.Fault
		want    channel.FailureKind
		says    string
	}{
		"an unknown id":            {address: "https://www.youtube.com/channel/UC0000000000000000000000", want: channel.NotFound, says: "404"},
		"an unknown handle":        {address: "https://www.youtube.com/@unknown", want: channel.NotFound, says: "404"},
		"a channel that was ended": {channel: youtube.Channel{Alert: "This account has been terminated."}, want: channel.NotFound, says: "terminated"},
		"no tab of streams":        {channel: youtube.Channel{Answer: youtube.NoStreamsTab}, want: channel.NoStreams, says: "streams tab"},
		"home in place of the tab": {channel: youtube.Channel{Answer: youtube.HomeInstead}, want: channel.NoStreams, says: "streams tab"},
		"403":                      {fault: httpfault.Status(403), want: channel.Refused, says: "403"},
		"429":                      {fault: httpfault.Status(429), want: channel.RateLimited, says: "429"},
		"503":                      {fault: httpfault.Status(503), want: channel.Network, says: "503"},
		"a reset":                  {fault: httpfault.Reset(), want: channel.Network, says: ""},
		"a page of consent":        {fault: youtube.Consent(), want: channel.Unreadable, says: "JSON"},
		"garbage":                  {fault: httpfault.Text("<html>hello"), want: channel.Unreadable, says: "JSON"},
		"nothing":                  {fault: httpfault.Text(""), want: channel.Unreadable, says: "JSON"},
		"an empty object":          {fault: httpfault.Text("{}"), want: channel.Unreadable, says: ""},
		"50 MB":                    {fault: httpfault.Zeros(50 << 20), want: channel.Unreadable, says: ""},
	} {
		t.Run(name, func(t *testing.T) {
			addChannel(y, c.channel, 1, 0)
			if c.fault != nil {
				defer y.Inject(youtube.Page, c.fault)()
				defer y.Inject(youtube.Browse, c.fault)()
			}
			if c.address == "" {
				c.address = listedAddress
			}
			_, err := resolver.List(t.Context(), c.address)
			expectListFailure(t, err, c.want, c.says)
		})
	}
}

func expectListFailure(t *testing.T, err error, want channel.FailureKind, says string) {
	t.Helper()
	failure, is := errors.AsType[*channel.Failure](err)
	if !is || failure.Kind != want || !strings.Contains(failure.Detail, says) || failure.Detail == "" {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTheRealToolSaysWhenStreamsMayBeMissing(t *testing.T) {
	y := pythontooltest.YouTube(t)
	resolver := realTool(t)
	for name, c := range map[string]struct {
		channel         youtube.Channel
		upcoming, ended int
		more            httpfault.Fault // in place of what follows the first page
		streams         int
		partial         bool
	}{
		"none at all":                       {},
		"most of them ended":                {upcoming: 2, ended: 40, streams: 30},
		"more are to come than it is asked": {upcoming: 31, streams: 30, partial: true},
		"nothing but a continuation":        {channel: youtube.Channel{Answer: youtube.OnlyContinuation}, upcoming: 2, streams: 2},
		"what follows is refused":           {channel: youtube.Channel{PageSize: 10}, upcoming: 20, more: httpfault.Status(429), streams: 10, partial: true},
		"what follows is in another form":   {channel: youtube.Channel{PageSize: 10}, upcoming: 20, more: httpfault.Text("{}"), streams: 10, partial: true},
		"what follows is of no form":        {channel: youtube.Channel{PageSize: 10}, upcoming: 20, more: httpfault.Text("<html>"), streams: 10, partial: true},
		"what follows fails":                {channel: youtube.Channel{PageSize: 10}, upcoming: 20, more: httpfault.Status(503), streams: 10, partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, state := range []youtube.State{youtube.Upcoming, youtube.Ended} {
				for i := range 50 {
					y.Set(fmt.Sprintf("%.4s-%06d", state, i), youtube.Removed)
				}
			}
			addChannel(y, c.channel, c.upcoming, c.ended)
			if c.more != nil {
				defer y.Inject(youtube.Browse, c.more)()
			}
			got := must.Get(resolver.List(t.Context(), listedAddress))(t)
			if len(got.Streams) != c.streams || got.Partial != c.partial {
				t.Errorf("%d streams, partial: %v", len(got.Streams), got.Partial)
			}
		})
	}
}

// FuzzReadList checks that every output gives a Listing that can be stored, or a failure in one line.
func FuzzReadList(f *testing.F) {
	f.Add([]byte(`{"channel_id":"UCabcdefghijklmnopqrstuv","channel":"A","uploader_id":"@a","entries":[{"url":"https://www.youtube.com/watch?v=abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200},null]}`), []byte("ERROR: HTTP Error 429: Too Many Requests"))
	f.Add([]byte("null"), []byte("ERROR: [youtube:tab] @b: This channel does not have a streams tab"))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		got, err := ytdlp.ReadList(stdout, stderr)
		if err != nil {
			failure, is := errors.AsType[*channel.Failure](err)
			if !is || failure.Detail == "" || len(failure.Detail) > pythontool.MaxLine || strings.ContainsAny(failure.Detail, "\r\n\x00") {
				t.Errorf("failed with %q", err)
			}
			return
		}
		if len(got.Streams) > ytdlp.MaxListed {
			t.Errorf("%d streams", len(got.Streams))
		}
		for _, s := range got.Streams {
			if again, err := monitor.ParseStreamURL(string(s.URL)); err != nil || again != s.URL || s.ScheduledStart.Year() > 9999 {
				t.Errorf("stream %+v", s)
			}
		}
	})
}
