package browse_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube/browse"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	channelID = "UCabcdefghijklmnopqrstuv"
	handle    = "@some-channel"
	byID      = "https://www.youtube.com/channel/" + channelID
	byHandle  = "https://www.youtube.com/" + handle
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// site starts a fake YouTube with a channel.
func site(t *testing.T, c youtube.Channel) (*youtube.Server, *browse.Lister) {
	t.Helper()
	y := must.Get(youtube.Start(youtube.Config{}))(t)
	t.Cleanup(func() { must.Do(t, y.Close()) })
	c.Handle, c.Title = handle, "Some Channel"
	y.AddChannel(channelID, c)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must.Get(os.ReadFile(y.CAFile()))(t))
	transport := &http.Transport{Proxy: http.ProxyURL(must.Get(url.Parse(y.Proxy()))(t)), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return y, browse.New(&http.Client{Transport: transport})
}

// add adds videos to the channel.
func add(y *youtube.Server, n int, v youtube.Video) {
	for i := range n {
		v.Channel, v.Scheduled = channelID, noon.Add(time.Duration(i)*time.Hour)
		y.Add(fmt.Sprintf("%.4s-%06d", v.State, i), v)
	}
}

// states lists the streams of a listing as ID STATE, with their starts and whether they are for members.
func states(l channel.Listing) (all []string) {
	for _, s := range l.Streams {
		text := fmt.Sprintf("%s %s", s.URL.ID(), s.State)
		if !s.ScheduledStart.IsZero() {
			text += s.ScheduledStart.Format(" 15:04")
		}
		if s.MembersOnly {
			text += " members"
		}
		all = append(all, text)
	}
	return all
}

func TestTheStreamsOfAChannelInBothLayouts(t *testing.T) {
	videos := map[string]youtube.Video{
		"upcoming-01": {State: youtube.Upcoming, Scheduled: noon},
		"premiere-01": {State: youtube.Premiere, Scheduled: noon.Add(-time.Hour)},
		"members-upc": {State: youtube.Upcoming, Scheduled: noon.Add(-2 * time.Hour), MembersOnly: true},
		"live-000001": {State: youtube.Live, Started: noon},
		"members-liv": {State: youtube.Live, Started: noon.Add(-time.Hour), MembersOnly: true},
		"ended-00001": {State: youtube.Ended, Started: noon},
		"ordinary-01": {State: youtube.Ordinary},
		"removed-001": {State: youtube.Removed},
	}
	for layout, want := range map[youtube.Layout][]string{
		youtube.Lockup:   {"upcoming-01 upcoming", "premiere-01 upcoming", "members-upc upcoming members", "live-000001 live", "members-liv live members", "ended-00001 ended"},
		youtube.Renderer: {"upcoming-01 upcoming 12:00", "premiere-01 upcoming 11:00", "members-upc upcoming 10:00 members", "live-000001 live", "members-liv live members", "ended-00001 ended"},
	} {
		y, l := site(t, youtube.Channel{Layout: layout})
		for id, v := range videos {
			v.Channel, v.Title = channelID, "Title of "+id
			y.Add(id, v)
		}
		for _, address := range []string{byID, byHandle, "https://www.youtube.com/c/some-channel"} {
			t.Run(string(layout)+address, func(t *testing.T) {
				got := must.Get(l.List(t.Context(), address))(t)
				expect.Equal(t, "the streams", states(got), want)
				expect.Equal(t, "the title of the first", got.Streams[0].Title, "Title of upcoming-01")
				got.Streams = nil
				expect.Equal(t, "the listing", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", channel.Listing{ID: channelID, Handle: handle, Title: "Some Channel", By: "browse"}))
			})
		}
	}
}

func TestPagesAreFollowedUntilOneEndsWithAStreamThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		upcoming, ended int
		answer          youtube.Answer
		streams, asked  int
		partial         bool
	}{
		"no stream at all":              {0, 0, "", 0, 1, false},
		"the first ends with one":       {10, 95, "", 30, 1, false},
		"the second ends with one":      {31, 95, "", 60, 2, false},
		"all are to come":               {95, 0, "", 95, 4, false},
		"more are to come than is read": {200, 0, "", 150, 5, true},
		"nothing but a continuation":    {3, 0, youtube.OnlyContinuation, 3, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			y, l := site(t, youtube.Channel{Answer: c.answer})
			add(y, c.upcoming, youtube.Video{State: youtube.Upcoming})
			add(y, c.ended, youtube.Video{State: youtube.Ended})
			got := must.Get(l.List(t.Context(), byID))(t)
			if len(got.Streams) != c.streams || got.Partial != c.partial || y.Count(youtube.Browse, channelID) != c.asked {
				t.Errorf("%d streams, partial: %v, after %d requests", len(got.Streams), got.Partial, y.Count(youtube.Browse, channelID))
			}
		})
	}
}

// deep is JSON that is nested a million times.
var deep = `{"contents":` + strings.Repeat("[", 1_000_000)

func TestWhatIsNoListingIsAFailure(t *testing.T) {
	const html = "<!DOCTYPE html><html>"
	for name, c := range map[string]struct {
		channel youtube.Channel
		address string
		fault   httpfault.Fault
		want    channel.FailureKind
		says    string
	}{
		"an unknown id":            {address: "https://www.youtube.com/channel/UC0000000000000000000000", want: channel.NotFound, says: "no such channel"},
		"an unknown handle":        {address: "https://www.youtube.com/@unknown/日本?x", want: channel.NotFound, says: "no such channel"},
		"a channel that was ended": {channel: youtube.Channel{Alert: "This account has been terminated."}, want: channel.NotFound, says: "terminated"},
		"another alert":            {channel: youtube.Channel{Alert: "Something went wrong."}, want: channel.Unreadable, says: "went wrong"},
		"no tab of streams":        {channel: youtube.Channel{Answer: youtube.NoStreamsTab}, want: channel.NoStreams, says: "no tab of streams"},
		"home in place of the tab": {channel: youtube.Channel{Answer: youtube.HomeInstead}, want: channel.Unreadable, says: "other than the tab"},
		"401":                      {fault: httpfault.Status(401), want: channel.Refused, says: "401"},
		"403":                      {fault: httpfault.Status(403), want: channel.Refused, says: "403"},
		"429":                      {fault: httpfault.Status(429), want: channel.RateLimited, says: "429"},
		"500":                      {fault: httpfault.Status(500), want: channel.Network, says: "500"},
		"503":                      {fault: httpfault.Status(503), want: channel.Network, says: "503"},
		"400":                      {fault: httpfault.Status(400), want: channel.Unreadable, says: "400"},
		"a page of consent":        {fault: youtube.Consent(), want: channel.Refused, says: "leads it to consent.youtube.com"},
		"its form":                 {fault: httpfault.Text(html + `<form action="https://consent.youtube.com/save">`), want: channel.Refused, says: "consent"},
		"a test":                   {fault: httpfault.Text(html + "Our systems have detected unusual traffic"), want: channel.Refused, says: "test"},
		"garbage":                  {fault: httpfault.Text(html + "hello"), want: channel.Unreadable, says: "cannot be read"},
		"nothing":                  {fault: httpfault.Text(""), want: channel.Unreadable, says: "cannot be read"},
		"an empty object":          {fault: httpfault.Text("{}"), want: channel.Unreadable, says: "in place of the channel"},
		"another channel":          {fault: httpfault.Text(page("UCzzzzzzzzzzzzzzzzzzzzzz", "[]")), want: channel.Unreadable, says: "UCzzzz"},
		"no entries":               {fault: httpfault.Text(page(channelID, "null")), want: channel.Unreadable, says: "form that is not known"},
		"a wrong type":             {fault: httpfault.Text(page(channelID, `{"a":1}`)), want: channel.Unreadable, says: "cannot be read"},
		"deep nesting":             {fault: httpfault.Text(deep), want: channel.Unreadable, says: "depth"},
		"50 MB":                    {fault: httpfault.Endless(50 << 20), want: channel.Unreadable, says: "more than"},
		"50 MB in few bytes":       {fault: httpfault.Bomb(50 << 20), want: channel.Unreadable, says: "more than"},
		"an answer cut off":        {fault: httpfault.Truncate(), want: channel.Network, says: "broke off"},
		"a reset":                  {fault: httpfault.Reset(), want: channel.Network, says: "not reached"},
	} {
		t.Run(name, func(t *testing.T) {
			y, l := site(t, c.channel)
			if c.fault != nil {
				y.Inject(youtube.Browse, c.fault)
			}
			if c.address == "" {
				c.address = byID
			}
			_, err := l.List(t.Context(), c.address)
			expectFailure(t, err, c.want, c.says)
		})
	}
}

func expectFailure(t *testing.T, err error, want channel.FailureKind, says string) {
	t.Helper()
	failure, is := errors.AsType[*channel.Failure](err)
	if !is || failure.Kind != want || !strings.Contains(failure.Detail, says) || strings.Contains(failure.Detail, "/youtubei/") {
		t.Errorf("got %v, want %s", err, want)
	}
}

// page is a tab of streams with entries.
func page(id, entries string) string {
	return `{"metadata":{"channelMetadataRenderer":{"externalId":"` + id + `"}},"contents":{"twoColumnBrowseResultsRenderer":{"tabs":[{"tabRenderer":{"selected":true,` +
		`"endpoint":{"commandMetadata":{"webCommandMetadata":{"url":"/@x/streams"}}},"content":{"richGridRenderer":{"contents":` + entries + `}}}}]}}}`
}

// entry is an entry of the present layout, with what follows its id.
func entry(more string) string {
	return `{"richItemRenderer":{"content":{"lockupViewModel":{"contentId":"abcdefghijk","contentType":"LOCKUP_CONTENT_TYPE_VIDEO"` + more + `}}}}`
}

// badge is a mark on the picture of an entry, which may also have a duration.
func badge(text, style string, duration ...string) string {
	return `,"contentImage":{"thumbnailViewModel":{"overlays":[{"thumbnailOverlayBadgeViewModel":{"thumbnailBadges":[` +
		`{"thumbnailBadgeViewModel":{"text":"` + text + `","badgeStyle":"` + style + `"}},{"thumbnailBadgeViewModel":{"text":"` + strings.Join(duration, "") + `"}}]}}]}}`
}

func old(more string) string {
	return `{"richItemRenderer":{"content":{"videoRenderer":{"videoId":"abcdefghijk"` + more + `}}}}`
}

func TestAnEntryThatIsNotUnderstoodMakesTheListingPartial(t *testing.T) {
	type outcome struct {
		state   channel.State // empty: it is not listed
		partial bool
	}
	const twice = 2 // as often is each entry on the page
	unknown := outcome{partial: true}
	for name, c := range map[string]struct {
		entry string
		want  outcome
	}{
		"no mark":                  {entry(""), outcome{channel.Unclear, false}},
		"a mark that is not known": {entry(badge("SOON", "X")), outcome{channel.Unclear, false}},
		"live":                     {entry(badge("LIVE", "THUMBNAIL_OVERLAY_BADGE_STYLE_LIVE", "1:02:03")), outcome{channel.Live, false}},
		"upcoming":                 {entry(badge("UPCOMING", "X")), outcome{channel.Upcoming, false}},
		"a duration":               {entry(badge("59:59", "X")), outcome{channel.Ended, false}},
		"an older one, no mark":    {old(""), outcome{channel.Unclear, false}},
		"an older one, live":       {old(`,"badges":[{"metadataBadgeRenderer":{"style":"BADGE_STYLE_TYPE_LIVE_NOW"}}]`), outcome{channel.Live, false}},
		"an older one, a number":   {old(`,"upcomingEventData":{"startTime":99999999999999}`), outcome{channel.Upcoming, false}},
		"an older one, streamed":   {old(`,"publishedTimeText":{"simpleText":"Streamed 2 days ago"}`), outcome{channel.Ended, false}},
		"a playlist":               {`{"richItemRenderer":{"content":{"lockupViewModel":{"contentId":"abcdefghijk","contentType":"LOCKUP_CONTENT_TYPE_PLAYLIST"}}}}`, unknown},
		"an advertisement":         {`{"richItemRenderer":{"content":{"adSlotRenderer":{}}}}`, unknown},
		"a shelf":                  {`{"richSectionRenderer":{}}`, unknown},
		"an id that is none":       {`{"richItemRenderer":{"content":{"videoRenderer":{"videoId":"abc"}}}}`, unknown},
		"a number for an id":       {`{"richItemRenderer":{"content":{"videoRenderer":{"videoId":5}}}}`, unknown},
		"a number":                 {`5`, unknown},
		"null":                     {`null`, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(browse.ReadTab(channelID, []byte(page(channelID, "["+strings.Join(slices.Repeat([]string{c.entry}, twice), ",")+"]")), nil))(t)
			have := outcome{partial: got.Partial}
			for _, s := range got.Streams {
				have.state += s.State
				if s.ScheduledStart.Year() > 9999 {
					t.Errorf("it starts at %v", s.ScheduledStart)
				}
			}
			expect.Equal(t, "the entry", have, c.want)
		})
	}
}

func TestAListingIsBounded(t *testing.T) {
	var entries []string
	for i := range 2 * browse.MaxStreams {
		entries = append(entries, strings.Replace(entry(""), "abcdefghijk", fmt.Sprintf("%011d", i), 1))
	}
	got := must.Get(browse.ReadTab(channelID, []byte(page(channelID, "["+strings.Join(entries, ",")+"]")), nil))(t)
	if len(got.Streams) != browse.MaxStreams || !got.Partial {
		t.Errorf("%d streams, partial: %v", len(got.Streams), got.Partial)
	}
}

func TestAListEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := browse.New(clientOf(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		began := time.Now()
		_, err := l.List(t.Context(), byHandle)
		expectFailure(t, err, channel.Network, "deadline")
		expect.Equal(t, "it ended after", time.Since(began), browse.Timeout)
	})
}

func TestTheQuestionAsksForEnglishAndNotForConsent(t *testing.T) {
	l := browse.New(clientOf(func(r *http.Request) (*http.Response, error) {
		if r.URL.String() != "https://www.youtube.com/youtubei/v1/browse?prettyPrint=false" || r.Header.Get("Cookie") != "SOCS=CAI" {
			t.Errorf("%s with the cookie %q", r.URL, r.Header.Get("Cookie"))
		}
		body := make([]byte, 1000)
		n, _ := r.Body.Read(body)
		expect.Text(t, "the question", string(body[:n]), `"hl":"en"`, `"browseId":"`+channelID+`"`)
		return nil, context.Canceled
	}))
	_, err := l.List(t.Context(), byID)
	expectFailure(t, err, channel.Network, "canceled")
}

type transport func(*http.Request) (*http.Response, error)

func clientOf(f transport) *http.Client { return &http.Client{Transport: f} }

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzReadTab checks that every answer gives a listing that can be stored, or a failure in one line.
func FuzzReadTab(f *testing.F) {
	more := `{"onResponseReceivedActions":[{"appendContinuationItemsAction":{"continuationItems":[` + entry("") + `]}}]}`
	next := `{"continuationItemRenderer":{"continuationEndpoint":{"commandExecutorCommand":{"commands":[{"continuationCommand":{"token":"a"}}]}}}}`
	for _, entries := range []string{
		"[]", "[" + entry(badge("LIVE", "THUMBNAIL_OVERLAY_BADGE_STYLE_LIVE")) + "]", "[" + next + "]",
		"[" + old(`,"title":{"runs":[{"text":"a"}]},"upcomingEventData":{"startTime":"1795255200"}`) + "," + next + "]",
		"[" + entry(`,"metadata":{"lockupMetadataViewModel":{"title":{"content":"a"},"metadata":{"contentMetadataViewModel":{"metadataRows":[{"metadataParts":[{"text":{"content":"Streamed 2 days ago"}}],"badges":[{"badgeViewModel":{"badgeStyle":"BADGE_MEMBERS_ONLY"}}]}]}}}}`) + "]",
	} {
		f.Add([]byte(page(channelID, entries)), []byte(more))
	}
	f.Add([]byte(`{"alerts":[{"alertRenderer":{"type":"ERROR","text":{"simpleText":"This channel does not exist."}}}]}`), []byte{})
	f.Fuzz(func(t *testing.T, body, more []byte) {
		got, err := browse.ReadTab(channelID, body, more)
		if err != nil {
			failure, is := errors.AsType[*channel.Failure](err)
			if !is || len(failure.Detail) > 300 || monitor.CleanLine(failure.Detail) != failure.Detail {
				t.Errorf("failed with %q", err)
			}
			return
		}
		if got.ID != channelID || len(got.Streams) > browse.MaxStreams {
			t.Errorf("%d streams of %q", len(got.Streams), got.ID)
		}
		for _, s := range got.Streams {
			if again, err := monitor.ParseStreamURL(string(s.URL)); err != nil || again != s.URL || len(s.Title) > 400 || s.ScheduledStart.Year() > 9999 {
				t.Errorf("stream %+v", s)
			}
		}
	})
}
