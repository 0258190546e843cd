package acceptance_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/adviser"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/discord"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// endpoint gives second opinions: it drops what it is asked about the first stream, and does not answer about others.
type endpoint struct {
	mu    sync.Mutex
	drops string // the monitor whose alerts it drops
	asked []adviser.Question
}

func (e *endpoint) decide(q adviser.Question) *adviser.Answer {
	e.mu.Lock()
	e.asked = append(e.asked, q)
	drops := q.Event.MonitorID == e.drops
	e.mu.Unlock()
	if !drops {
		time.Sleep(20 * time.Second)
	}
	return &adviser.Answer{Opinion: "drop", Reason: "the end screen"}
}

// questions returns the questions about a stream.
func (e *endpoint) questions(id string) []adviser.Question {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.asked), func(q adviser.Question) bool { return q.Event.MonitorID != id })
}

// A black stream is asked about with its pictures. A dropped alert reaches callback and webhook and no person; one that is
// not answered reaches all. How each answer counts: domain/notify, in virtual time.
func TestASecondOpinionDropsMessagesAndNoEvent(t *testing.T) { // section 19.9
	runTimeline(t, 2)
	const key = "the-key-of-second-opinions"
	var opinions endpoint
	server := httptest.NewServer(adviser.Handler(key, opinions.decide))
	t.Cleanup(server.Close)
	env := startEnv(t, "SECOND_OPINION_URL="+server.URL, "SECOND_OPINION_KEY="+key, "SECOND_OPINION_MODE=drop")
	system, systemID := startReceiver(t, env, "system")
	people := discord.New()
	t.Cleanup(people.Close)
	peopleID := create(t, env.Service, "/api/v1/destinations", "destination_id", map[string]any{
		"name": "people", "kind": "discord", "config": map[string]any{}, "secrets": map[string]any{"webhook_url": people.WebhookURL()},
	})
	routes := callOK(t, env.Service, http.MethodGet, "/api/v1/routes", nil)["routes"].([]any)
	last := routes[len(routes)-1].(map[string]any)["route_id"].(string)
	callOK(t, env.Service, http.MethodPatch, "/api/v1/routes/"+last, map[string]any{"destinations": []string{systemID, peopleID}})
	video := scenario.Video{Config: livestream.Config{Preroll: 30 * time.Second}}
	dropped, unanswered := env.Watch(t, video), env.Watch(t, video)
	opinions.mu.Lock()
	opinions.drops = dropped.ID
	opinions.mu.Unlock()
	told := func(about *scenario.Stream) bool {
		return slices.ContainsFunc(people.Messages(), func(m channel.Message) bool { return strings.Contains(fmt.Sprint(m.Text, m.Links), about.Video) })
	}
	got := func(about *scenario.Stream, eventType string) bool {
		return slices.ContainsFunc(system.All(), func(d webhookreceiver.Delivery) bool { return d.MonitorID == about.ID && d.EventType == eventType })
	}

	var shown []string // of each question
	for _, s := range []*scenario.Stream{dropped, unanswered} {
		s.GoBlack()
		eventually(t, 30*time.Second, "the webhook is sent", func() bool { return got(s, scenario.Blackout) })
		eventually(t, 20*time.Second, "the endpoint is asked", func() bool { return len(opinions.questions(s.ID)) == 1 })
		q := opinions.questions(s.ID)[0]
		if q.Condition != "black" || q.Event.EventType != scenario.Blackout {
			t.Errorf("the question is %+v", q)
		}
		shown = append(shown, http.DetectContentType(q.Pictures["onset"])+" "+http.DetectContentType(q.Pictures["before"]))
	}
	if !slices.Contains(shown, "image/jpeg image/jpeg") { // a busy machine may be late with those of one
		t.Errorf("the questions have %q", shown)
	}
	eventually(t, 15*time.Second, "the unanswered alert is told", func() bool { return told(unanswered) })
	for _, s := range []*scenario.Stream{dropped, unanswered} {
		s.Black(false)
		s.WaitEvent(scenario.BlackoutRecovered, time.Minute)
		eventually(t, 20*time.Second, "the webhook is sent", func() bool { return got(s, scenario.BlackoutRecovered) })
	}
	eventually(t, 90*time.Second, "the incident is resolved", func() bool { return newestIncident(dropped)["state"] == "resolved" })
	if told(dropped) {
		t.Errorf("people were told %+v", people.Messages())
	}
	opinion := newestIncident(dropped)["conditions"].([]any)[0].(map[string]any)["alert"].(map[string]any)["opinion"].(map[string]any)
	if opinion["verdict"] != "drop" || opinion["reason"] != "the end screen" {
		t.Errorf("the opinion is %v", opinion)
	}
	eventually(t, 30*time.Second, "the dropped message is listed alone", func() bool {
		all := callOK(t, env.Service, http.MethodGet, "/api/v1/deliveries?state=dropped", nil)["deliveries"].([]any)
		return len(all) == 1 && all[0].(map[string]any)["monitor_id"] == dropped.ID && all[0].(map[string]any)["last_error"] == "dropped by the second opinion: the end screen"
	})
}
