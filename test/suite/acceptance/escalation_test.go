package acceptance_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// pushInterval is the least time between two sounds about the same condition (section 19.3).
const pushInterval = 10 * time.Minute

// openRoutes are the destinations and routes of an incident that nobody takes.
type openRoutes struct {
	*testenv.Env
	db *sql.DB

	team       *told // of the default route, which repeats
	gone       *told // of the same route; it answers 410
	fallback   *told // of gone; no route leads to it
	escalation *told // of a route with a delay
	delay      time.Duration
}

// startOpenRoutes starts a gateway and makes its destinations and routes.
func startOpenRoutes(t *testing.T) *openRoutes {
	t.Helper()
	server := &database{Server: startDatabase(t, databaseDir(t))}
	t.Cleanup(server.end) // after its gateway's
	r := &openRoutes{delay: 15 * time.Second, team: newSlack(t, "team"), fallback: newSlack(t, "fallback"), escalation: newSlack(t, "escalation")}
	r.Env = startEnv(t, "DB_DSN="+server.DSN(), "PUBLIC_URL="+publicURL)
	var err error
	if r.db, err = sql.Open("postgres", server.DSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.db.Close() })
	workflow := teams.New()
	t.Cleanup(workflow.Close)
	workflow.Fail(channel.Fault{Status: http.StatusGone})
	for _, c := range []*told{r.team, r.fallback, r.escalation} {
		c.createDestination(t, r.Env)
	}
	r.gone = &told{name: "deleted workflow", messages: workflow.Messages}
	r.gone.id = create(t, r.Env, "/api/v1/destinations", "destination_id", map[string]any{
		"name": r.gone.name, "kind": "teams", "secrets": map[string]any{"workflow_url": workflow.WorkflowURL()}, "fallback": r.fallback.id,
	})
	create(t, r.Env, "/api/v1/routes", "route_id", map[string]any{
		"name": "escalation", "destinations": []string{r.escalation.id}, "delay_sec": r.delay.Seconds(), "continue": true,
	})
	routes := callOK(t, r.Env, http.MethodGet, "/api/v1/routes", nil)["routes"].([]any)
	last := routes[len(routes)-1].(map[string]any)["route_id"].(string)
	callOK(t, r.Env, http.MethodPatch, "/api/v1/routes/"+last, map[string]any{
		"destinations": []string{r.team.id, r.gone.id}, "repeat_sec": pushInterval.Seconds(),
	})
	return r
}

// letPass makes all sounds so far older, and lets the dispatcher look at every thread.
func (r *openRoutes) letPass(t *testing.T, d time.Duration) {
	t.Helper()
	if _, err := r.db.ExecContext(t.Context(), `
		UPDATE deliveries SET told = jsonb_set(told, '{sounds,newest}', to_jsonb(CAST(told#>>'{sounds,newest}' AS timestamptz) - make_interval(secs => $1))),
			state = 'pending', changed = true, due_at = now(), round_began_at = now(), tried = 0
		WHERE told IS NOT NULL AND state <> 'failed'`, d.Seconds()); err != nil {
		t.Fatal(err)
	}
}

// waitNothingDue waits until the dispatcher has looked at every thread.
func (r *openRoutes) waitNothingDue(t *testing.T) {
	t.Helper()
	eventually(t, 20*time.Second, "nothing is due", func() bool {
		due := -1
		err := r.db.QueryRowContext(t.Context(), `
			SELECT count(*) FROM deliveries x JOIN destinations d ON d.id = x.destination_id
			WHERE x.state = 'pending' AND x.due_at <= now() + interval '1 minute' AND d.enabled`).Scan(&due)
		return err == nil && due == 0
	})
}

// sounds returns the messages that made a sound.
func (c *told) sounds() (all []channel.Message) {
	for _, m := range c.messages() {
		if m.Sound {
			all = append(all, m)
		}
	}
	return all
}

// An incident is told when its silence ends, it is escalated and repeated, and all of that
// stops once somebody has it.
func TestAnIncidentIsEscalatedAndRepeatedUntilSomebodyHasIt(t *testing.T) { // sections 19.1, 19.2, 19.6
	runTimeline(t, 1, 60*time.Second)
	r := startOpenRoutes(t)
	p := watchStream(t, r.Env, livestream.Config{Preroll: 30 * time.Second}, nil)
	all := &story{all: []*told{r.team, r.escalation, r.fallback}, seen: map[string]string{}}
	t.Cleanup(func() { all.write(t) })
	silence := create(t, r.Env, "/api/v1/silences", "silence_id", map[string]any{
		"match": map[string]any{"monitors": []string{p.id}}, "to": "2999-01-01T00:00:00Z", "by": "Ann", "comment": "maintenance",
	})

	p.goBlack()
	eventually(t, 60*time.Second, "an incident is open", func() bool { return len(p.incidents()) == 1 })
	i := p.incidents()[0]
	active := callOK(t, r.Env, http.MethodGet, "/api/v1/silences?state=active", nil)["silences"].([]any)
	if len(active) != 1 || fmt.Sprint(active[0].(map[string]any)["incidents"]) != fmt.Sprint([]any{i["incident_id"]}) {
		t.Errorf("the active silences are %v, want one that holds back %v", active, i["incident_id"])
	}
	r.waitNothingDue(t)
	for _, c := range []*told{r.team, r.escalation, r.fallback} {
		if got := c.messages(); len(got) > 0 {
			t.Errorf("during the silence %s is told %v", c.name, got)
		}
	}

	end := time.Now().Add(2 * time.Second)
	callOK(t, r.Env, http.MethodPatch, "/api/v1/silences/"+silence, map[string]any{"to": end})
	waitAll(t, []*told{r.team}, 30*time.Second, "Black video", "", "")
	if at := r.team.sounds()[0].PostedAt; at.Before(end) {
		t.Errorf("told at %s, the silence ended at %s", at, end)
	}
	all.chapter("the silence has ended, and the picture is still black")
	r.assertGone(t)
	waitAll(t, []*told{r.escalation}, 60*time.Second, "Black video", "", "")
	if at := r.escalation.sounds()[0].PostedAt; at.Sub(timeOf(t, i, "opened_at")) < r.delay {
		t.Errorf("escalated %s after the opening, want %s", at.Sub(timeOf(t, i, "opened_at")), r.delay)
	}
	all.chapter("nobody has it: it is escalated")

	r.letPass(t, pushInterval)
	waitAll(t, []*told{r.team}, 20*time.Second, "still", "", "")
	r.waitNothingDue(t)
	all.chapter("ten minutes later it is repeated")
	assertSounds(t, r.team, 2)
	assertSounds(t, r.escalation, 1) // its route repeats nothing

	p.acknowledgeByLink(r.escalation)
	waitAll(t, []*told{r.team, r.escalation}, 20*time.Second, "Acknowledged by 山田 Ann", "", "")
	r.letPass(t, pushInterval)
	r.waitNothingDue(t)
	all.chapter("somebody has it, and ten minutes later nothing is repeated")
	assertSounds(t, r.team, 2)
	assertSounds(t, r.escalation, 1)
	if got := r.gone.messages(); len(got) > 0 {
		t.Errorf("the deleted workflow has posted %v", got)
	}
}

// assertGone asserts that the destination which answers 410 is disabled, and its fallback
// is told so.
func (r *openRoutes) assertGone(t *testing.T) {
	t.Helper()
	var d map[string]any
	eventually(t, 20*time.Second, "the destination that answers 410 is disabled", func() bool {
		d = callOK(t, r.Env, http.MethodGet, "/api/v1/destinations/"+r.gone.id, nil)
		return d["enabled"] == false
	})
	if reason := fmt.Sprint(d["disabled_reason"]); !strings.Contains(reason, "410") {
		t.Errorf("it is disabled because of %q", reason)
	}
	waitAll(t, []*told{r.fallback}, 20*time.Second, r.gone.name, "", "")
	if got := r.fallback.messages(); len(got) != 1 || !strings.Contains(got[0].Text, "NOT DELIVERED") {
		t.Errorf("its fallback is told %v", got)
	}
}

func assertSounds(t *testing.T, c *told, want int) {
	t.Helper()
	if got := c.sounds(); len(got) != want {
		t.Errorf("%s heard %d messages, want %d: %v", c.name, len(got), want, got)
	}
}

var severalStreams = regexp.MustCompile(`\d of \d+ streams: Black video`)

// Ten streams go black at once. Their workers wait for yt-dlp, so others report for them.
func TestTenStreamsThatFailAtOnceAreOneMessage(t *testing.T) { // section 19.7
	const streams = 10
	runTimeline(t, 4, 20*time.Second)
	receiver, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = receiver.Close() })
	env := &testenv.Env{Service: startGateways(t, 1, "PUBLIC_URL="+publicURL, "YTDLP_PATH="+hangingTool(t))[0]}
	hook := slack.New()
	t.Cleanup(hook.Close)
	team := &told{name: "team", kind: "slack", language: "en", messages: hook.Messages, config: map[string]any{}, secrets: map[string]any{"webhook_url": hook.WebhookURL()}}
	team.createDestination(t, env)
	routes := callOK(t, env, http.MethodGet, "/api/v1/routes", nil)["routes"].([]any)
	last := routes[len(routes)-1].(map[string]any)["route_id"].(string)
	callOK(t, env, http.MethodPatch, "/api/v1/routes/"+last, map[string]any{"destinations": []string{team.id}})
	var ids []string
	for range streams {
		id, err := env.Service.Register(t.Context(), "https://www.youtube.com/watch?v="+newVideoID(), receiver.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		reportStream(t, env.Service, id, "ok")
		ids = append(ids, id)
	}

	for _, id := range ids {
		reportBlackout(t, env.Service, id)
	}
	eventually(t, 40*time.Second, "a message", func() bool { return len(team.messages()) > 0 })
	t.Log(team.messages())
	// Not all may have been reported yet, and workers may have reported that theirs are not live.
	if first := team.messages()[0]; !severalStreams.MatchString(first.Text) {
		t.Errorf("the first message is %v", first)
	}
	for _, m := range team.messages() { // another one tells that it has got worse
		if !slices.ContainsFunc(m.Links, func(l channel.Link) bool { return l.URL == publicURL+"/incidents" }) {
			t.Errorf("a message is not about all of them: %v", m)
		}
	}
	for _, i := range callOK(t, env, http.MethodGet, "/api/v1/incidents?limit=100", nil)["incidents"].([]any) {
		if i := i.(map[string]any); i["state"] != "open" {
			t.Errorf("an incident is %v", i)
		}
	}
}

// hangingTool returns a program that finds nothing and does not end.
func hangingTool(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// reportBlackout reports an alert, as the monitor's worker does, and returns the id of the event.
func reportBlackout(t *testing.T, s *system.Service, id string) (event string) {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	event = uuid.Must(uuid.NewV7()).String()
	reportStream(t, s, id, "black", map[string]any{
		"event_id": event, "event_type": blackoutAlert, "timestamp": now,
		"data": map[string]any{"duration_sec": 30, "started_at": now, "threshold_sec": 30, "segment_info": map[string]any{"sequence": 1, "duration": 5}},
	})
	return event
}

// reportStream reports a live stream with events, as its worker does.
func reportStream(t *testing.T, s *system.Service, id, video string, events ...map[string]any) {
	t.Helper()
	content := map[string]any{
		"generation": 1, "status": "monitoring", "stream_status": "live",
		"health": map[string]any{"video": video, "audio": "ok", "last_check_at": time.Now().UTC().Format(time.RFC3339)},
	}
	if len(events) > 0 {
		content["events"] = events
	}
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.InternalURL()+"/internal/v1/monitors/"+id+"/status", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Internal-API-Key", system.WorkerToken(id))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("a report is answered %d %s, %v", answer.StatusCode, text, err)
	}
}
