package acceptance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// egressEnv starts a gateway with inline workers and two proxies. egress maps the URL of
// each of the fake's proxies to the name that the gateway has for it.
func egressEnv(t *testing.T, user string) (env *testenv.Env, egress map[string]string) {
	t.Helper()
	var relays [2]*relay
	var list, names []string
	for i := range relays {
		relays[i] = newRelay()
		host := strings.TrimPrefix(relays[i].serveProxy(t), "http://")
		list, names = append(list, "http://"+user+"@"+host), append(names, host)
	}
	env = startEnv(t, "WORKER_RUNTIME=inline", "EGRESS_PROXIES="+strings.Join(list, ","), "LOG_LEVEL=debug",
		"YTDLP_PATH="+toolPath(t, "yt-dlp"), "STREAMLINK_PATH="+writeScript(t, "exit 1"))
	second, err := env.YouTube.AddProxy()
	if err != nil {
		t.Fatal(err)
	}
	egress = map[string]string{}
	for i, proxy := range []string{env.YouTube.Proxy(), second} {
		relays[i].forwardTo(proxy)
		egress[proxy] = names[i]
	}
	return env, egress
}

// proxiesOf returns the proxies through which requests for a video came since a time.
func proxiesOf(env *testenv.Env, video string, since time.Time, classes ...youtube.Class) map[string]int {
	found := map[string]int{}
	for _, r := range env.YouTube.Requests() {
		for _, class := range classes {
			if r.Video == video && r.Class == class && r.At.After(since) {
				found[r.Proxy]++
			}
		}
	}
	return found
}

// only returns the only key of a map.
func only(t *testing.T, what string, counts map[string]int) (key string) {
	t.Helper()
	if len(counts) != 1 {
		t.Fatalf("%s came through %v, want one proxy", what, counts)
	}
	for key = range counts {
	}
	return key
}

func TestAStreamMovesToAnotherAddressWhenItsOwnIsBlocked(t *testing.T) { // section 10.3, decision O8
	runCostlyTimeline(t, 2, 110*time.Second)
	const password = "never-to-be-seen"
	env, egress := egressEnv(t, "user:"+password)
	var live [2]*watchedStream
	media := []youtube.Class{youtube.Playlist, youtube.Segment}
	var used [2]string
	for i := range live {
		live[i] = watchStream(t, env, livestream.Config{}, nil)
		used[i] = only(t, "its questions and media", proxiesOf(env, live[i].video, time.Time{}, append(media, youtube.Watch, youtube.Player)...))
	}
	if used[0] == used[1] {
		t.Fatalf("both streams use %s", used[0])
	}
	for range 4 { // they wait for their start, half of them through each proxy
		v := newVideoID()
		env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
		waitStatus(t, env, register(t, env, v, fastConfig()), "waiting", startTimeout)
	}

	blocked, other := used[0], used[1]
	for _, class := range []youtube.Class{youtube.Watch, youtube.Player, youtube.Other} {
		env.YouTube.InjectAt(blocked, class, httpfault.Status(403))
	}
	env.YouTube.ExpireNow(live[0].video) // its URLs have to be renewed
	rests, err := env.Service.WaitLog(timeoutContext(t, 120*time.Second), func(l system.Line) bool {
		return strings.HasPrefix(l.Message, "An egress address fails repeatedly and rests")
	})
	if err != nil {
		t.Fatal(err)
	}
	if rests.Level != "WARN" || rests.Data["egress"] != egress[blocked] || rests.Data["failure"] != "blocked" {
		t.Errorf("the log says %s, want %s", rests.Raw, egress[blocked])
	}
	resting := time.Now()
	eventually(t, 90*time.Second, "the media of the stream come through the other proxy", func() bool {
		return proxiesOf(env, live[0].video, resting, youtube.Segment)[other] > 2
	})
	moved := time.Now()
	eventually(t, 30*time.Second, "more of its media are requested", func() bool {
		return len(proxiesOf(env, live[0].video, moved, media...)) > 0
	})
	if got := only(t, "its media", proxiesOf(env, live[0].video, moved, media...)); got != other {
		t.Errorf("its media come through %s again", got)
	}
	if got := only(t, "the other stream's requests", proxiesOf(env, live[1].video, time.Time{}, append(media, youtube.Watch, youtube.Player)...)); got != other {
		t.Errorf("the other stream moved to %s", got)
	}

	service, err := env.Service.Call(t.Context(), http.MethodGet, "/api/v1/service", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range service.Body["egress"].([]any) {
		a := a.(map[string]any)
		if is := a["rest_sec"].(float64) > 1700; is != (a["name"] == egress[blocked]) {
			t.Errorf("the API shows %v", a)
		}
	}
	for _, l := range env.Service.Log() {
		if strings.Contains(l.Raw, password) {
			t.Fatalf("the log shows the password of a proxy: %s", l.Raw)
		}
	}
}
