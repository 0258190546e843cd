package youtubeapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var _ officialstates.UploadsAPI = (*youtubeapi.Client)(nil)

const (
	uploader = "UCabcdefghijklmnopqrstuv"
	handle   = "@some-channel"
	byID     = "https://www.youtube.com/channel/" + uploader
	byHandle = "https://www.youtube.com/" + handle
)

func TestTheUploadsOfAChannelAreListed(t *testing.T) {
	y, through := startYouTube(t)
	y.AddChannel(uploader, youtube.Channel{Handle: handle, Title: "Some Channel"})
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for i, state := range youtube.States() {
		y.Add(fmt.Sprintf("%.8s%03d", state+"--------", i), youtube.Video{State: state, Channel: uploader, Scheduled: noon, Started: noon})
	}
	y.Add("members-onl", youtube.Video{State: youtube.Live, Channel: uploader, MembersOnly: true})
	client := youtubeapi.New(through, youtube.APIKey)
	for address, calls := range map[string]int{byID: officialstate.UploadsUnits, byHandle: officialstate.UploadsUnits + officialstate.HandleUnits} {
		before := y.Count(youtube.API, "")
		got := must.Get(client.List(t.Context(), address))(t)
		states := map[string]string{}
		for _, s := range got.Streams {
			text := string(s.State)
			if !s.ScheduledStart.IsZero() {
				text += s.ScheduledStart.Format(" 15:04")
			}
			states[strings.TrimRight(s.URL.ID()[:8], "-")] = text
		}
		expect.Equal(t, "the states", states, map[string]string{
			"upcoming": "upcoming 12:00", "premiere": "upcoming 12:00", "live": "live", "offline": "live",
			"ended": "ended", "post_liv": "ended", "archived": "ended", "no_recor": "ended",
			"region": "live", "age": "live", "bot_chec": "live", "rate_lim": "live", "captcha": "live",
		})
		made := y.Count(youtube.API, "") - before
		if got.ID != uploader || !got.Partial || got.By != "data-api" || made != calls {
			t.Errorf("%s: %d calls, got %+v", address, made, got)
		}
	}
}

func TestAListOfUploadsThatFailsSaysNothingOfTheChannel(t *testing.T) {
	y, through := startYouTube(t)
	y.AddChannel(uploader, youtube.Channel{Handle: handle})
	client := youtubeapi.New(through, youtube.APIKey)
	for name, c := range map[string]struct {
		address string
		api     youtube.DataAPI
		fault   httpfault.Fault
		want    channel.FailureKind // empty: an empty list
	}{
		"no upload":            {address: byID},
		"an unknown id":        {address: "https://www.youtube.com/channel/UC0000000000000000000000", want: channel.Unreadable},
		"an unknown handle":    {address: "https://www.youtube.com/@unknown", want: channel.NotFound},
		"a name of before":     {address: "https://www.youtube.com/c/some-channel", want: channel.Unreadable},
		"no unit":              {address: byID, api: youtube.DataAPI{Refusal: "quotaExceeded"}, want: channel.Refused},
		"the last unit":        {address: byHandle, api: youtube.DataAPI{Quota: 1}, want: channel.Refused},
		"503":                  {address: byID, fault: httpfault.Status(503), want: channel.Network},
		"a captive portal":     {address: byID, fault: httpfault.Text("<html>log in"), want: channel.Unreadable},
		"an answer of another": {address: byHandle, fault: httpfault.Text(`{"kind":"youtube#videoListResponse"}`), want: channel.Unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			y.SetDataAPI(c.api)
			if c.fault != nil {
				defer y.Inject(youtube.API, c.fault)()
			}
			got, err := client.List(t.Context(), c.address)
			failure, _ := errors.AsType[*channel.Failure](err)
			switch {
			case c.want == "":
				expect.Equal(t, "streams", len(got.Streams), 0)
			case failure == nil || failure.Kind != c.want || strings.Contains(failure.Detail, youtube.APIKey):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
