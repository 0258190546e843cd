package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// A stream waits for its start, which the API tells by its time alone: its index is late. yt-dlp is asked when the stream is registered and
// when it has begun. Then the day's units are used up. What follows from each state: domain/watch and domain/officialstate, in virtual time.
func TestTheOfficialAPISparesYtdlpQuestionsAboutAStreamThatWaits(t *testing.T) { // S23
	runTimeline(t, 1)
	env := startEnv(t, "YOUTUBE_API_KEY="+youtube.APIKey)
	video := newVideoID()
	env.YouTube.Add(video, youtube.Video{State: youtube.Upcoming})
	id := env.Register(t, video, fastConfig())
	env.WaitStatus(t, id, "waiting", scenario.StartTimeout)
	shown := func() map[string]any {
		return callOK(t, env.Service, "GET", "/api/v1/service", nil)["youtube_api"].(map[string]any)
	}
	eventually(t, 70*time.Second, "the API is asked a third time", func() bool { return env.YouTube.Count(youtube.API, "") >= 3 })
	expect.Equal(t, "questions to yt-dlp, of which a minute without a key has three", env.YouTube.Count(youtube.Watch, video), 1)
	expect.Equal(t, "the use of the API", []any{shown()["units_used"], shown()["streams"], shown()["failure"]}, []any{3.0, 1.0, nil})

	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute}))(t)
	env.YouTube.Add(video, youtube.Video{State: youtube.Live, Source: stream, LateIndex: true})
	env.WaitEvent(t, id, scenario.Started, time.Minute)
	expect.Equal(t, "questions to yt-dlp until the start", env.YouTube.Count(youtube.Watch, video), 2)

	env.YouTube.SetDataAPI(youtube.DataAPI{Refusal: "quotaExceeded"})
	told := waitLog(t, env.Service, time.Minute, hasPrefix("the official API of a source gives no answer"))
	expect.Equal(t, "the failure in the log", told.Data["failure"], any("quota_exceeded"))
	failure := shown()["failure"].(map[string]any)
	expect.Equal(t, "the failure in the API", failure["kind"], any("quota_exceeded"))
	for _, l := range env.Service.Log() {
		if strings.Contains(l.Raw, youtube.APIKey) {
			t.Fatalf("the log shows the key: %s", l.Raw)
		}
	}
}
