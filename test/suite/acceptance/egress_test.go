package acceptance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// proxiesOf returns the proxies through which requests for a stream came since a time, and how many.
func proxiesOf(s *scenario.Stream, since time.Time, classes ...youtube.Class) map[string]int {
	found := map[string]int{}
	for _, r := range s.YouTube.Requests() {
		if r.Video == s.Video && slices.Contains(classes, r.Class) && r.At.After(since) {
			found[r.Proxy]++
		}
	}
	return found
}

// onlyKey returns the only key of a map.
func onlyKey(t *testing.T, what string, counts map[string]int) (key string) {
	t.Helper()
	if len(counts) != 1 {
		t.Fatalf("%s came through %v, want one proxy", what, counts)
	}
	for key = range counts {
	}
	return key
}

func TestAStreamMovesToAnotherAddressWhenItsOwnIsBlocked(t *testing.T) { // section 10.3, decision O8
	runTimeline(t, 2)
	const password = "never-to-be-seen"
	env := startConfigured(t, func(fakes *testenv.Env) []string {
		second, err := fakes.YouTube.AddProxy()
		if err != nil {
			t.Fatal(err)
		}
		list := strings.ReplaceAll(fakes.YouTube.Proxy()+","+second, "http://", "http://user:"+password+"@")
		return []string{"WORKER_RUNTIME=inline", "EGRESS_PROXIES=" + list, "LOG_LEVEL=debug", "EVIDENCE_CAPTURE=off",
			"YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + writeScript(t, "exit 1")}
	})
	media := []youtube.Class{youtube.Playlist, youtube.Segment}
	everything := append(slices.Clone(media), youtube.Watch, youtube.Player)
	var live [2]*scenario.Stream
	var used [2]string
	for i := range live {
		live[i] = env.Watch(t, scenario.Video{})
		used[i] = onlyKey(t, "its questions and media", proxiesOf(live[i], time.Time{}, everything...))
	}
	if used[0] == used[1] {
		t.Fatalf("both streams use %s", used[0])
	}
	for range 4 { // they wait for their start, half of them through each proxy
		v := newVideoID()
		env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
		env.WaitStatus(t, env.Register(t, v, fastConfig()), "waiting", scenario.StartTimeout)
	}

	blocked, other := used[0], used[1]
	for _, class := range []youtube.Class{youtube.Watch, youtube.Player, youtube.Other} {
		env.YouTube.InjectAt(blocked, class, httpfault.Status(403))
	}
	env.YouTube.ExpireNow(live[0].Video) // its URLs have to be renewed
	name := strings.TrimPrefix(blocked, "http://")
	rests := waitLog(t, env.Service, 2*time.Minute, hasPrefix("An egress address fails repeatedly and rests"))
	if rests.Level != "WARN" || rests.Data["egress"] != name || rests.Data["failure"] != "blocked" {
		t.Errorf("the log says %s, want %s", rests.Raw, name)
	}
	resting := time.Now()
	env.Eventually(t, 90*time.Second, "the media of the stream come through the other proxy", func() bool {
		return proxiesOf(live[0], resting, youtube.Segment)[other] > 2
	})
	moved := time.Now()
	env.Eventually(t, 30*time.Second, "more of its media are requested", func() bool { return len(proxiesOf(live[0], moved, media...)) > 0 })
	if got := onlyKey(t, "its media", proxiesOf(live[0], moved, media...)); got != other {
		t.Errorf("its media come through %s again", got)
	}
	if got := onlyKey(t, "the other stream's requests", proxiesOf(live[1], time.Time{}, everything...)); got != other {
		t.Errorf("the other stream moved to %s", got)
	}
	for _, a := range callOK(t, env.Service, "GET", "/api/v1/service", nil)["egress"].([]any) {
		a := a.(map[string]any)
		if is := a["rest_sec"].(float64) > 1700; is != (a["name"] == name && a["source"] == "youtube") {
			t.Errorf("the API shows %v", a)
		}
	}
	for _, l := range env.Service.Log() {
		if strings.Contains(l.Raw, password) {
			t.Fatalf("the log shows the password of a proxy: %s", l.Raw)
		}
	}
}
