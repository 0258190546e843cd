package acceptance_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// isTrouble reports whether the monitor is in the list of those in trouble.
func (p *watchedStream) isTrouble() bool {
	p.t.Helper()
	monitors := callOK(p.t, p.env, http.MethodGet, "/api/v1/monitors?trouble=true", nil)["monitors"].([]any)
	return slices.ContainsFunc(monitors, func(m any) bool { return m.(map[string]any)["monitor_id"] == p.id })
}

// incidentsOfNewReaders returns the incidents of the stream that a new reader of the feed begins with.
func (p *watchedStream) incidentsOfNewReaders() (all []string) {
	p.t.Helper()
	reader := &feedFollower{t: p.t}
	reader.connect(p.env.Service)
	reader.wait(10*time.Second, "state.replace", nil)
	for _, i := range reader.all()[0].Data["incidents"].([]any) {
		if i := i.(map[string]any); i["monitor_id"] == p.id {
			all = append(all, describeIncident(i))
		}
	}
	return all
}

// expectShown checks what the lists say of the stream.
func (p *watchedStream) expectShown(isTrouble bool, inFeed ...string) {
	p.t.Helper()
	if got := p.isTrouble(); got != isTrouble {
		p.t.Errorf("in the list of trouble: %t, want %t", got, isTrouble)
	}
	if got := p.incidentsOfNewReaders(); !slices.Equal(got, inFeed) {
		p.t.Errorf("the feed begins with %q, want %q", got, inFeed)
	}
}

// A person resolves the incident of a picture that stays black.
func TestResolvingMakesNoPictureGood(t *testing.T) { // section 16.1
	runTimeline(t, 1, 110*time.Second)
	env, team := startEnv(t, "PUBLIC_URL="+publicURL), newSlack(t, "team")
	team.createDestination(t, env)
	routes := callOK(t, env, http.MethodGet, "/api/v1/routes", nil)["routes"].([]any)
	callOK(t, env, http.MethodPatch, "/api/v1/routes/"+routes[len(routes)-1].(map[string]any)["route_id"].(string), map[string]any{"destinations": []string{team.id}})
	p := watchStream(t, env, livestream.Config{}, nil)
	p.goBlack()
	i := p.waitIncident(60*time.Second, "open black+")
	waitAll(t, []*told{team}, 30*time.Second, "Black video", "", "")

	callOK(t, env, http.MethodPost, "/api/v1/incidents/"+i["incident_id"].(string)+"/resolve", map[string]any{"op_id": "1", "by": "Ann"})
	if i := p.waitIncident(5*time.Second, "resolved black+"); i["resolved_by"] != "Ann" || i["severity_now"] != nil {
		t.Errorf("the incident is %v", i)
	}
	waitAll(t, []*told{team}, 20*time.Second, "RESOLVED by Ann, still", "", "")
	p.expectShown(true, "resolved black+")
	sounds := len(team.sounds())

	p.Black(false)
	p.waitIncident(60*time.Second, "resolved black-")
	p.waitHealthy(30 * time.Second)
	waitAll(t, []*told{team}, 20*time.Second, "Resolved by Ann.", "", "")
	p.expectShown(false)
	if got := len(team.sounds()); got != sounds {
		t.Errorf("%d messages made a sound since it was resolved", got-sounds)
	}

	p.goBlack()
	eventually(t, 60*time.Second, "another incident", func() bool { return len(p.incidents()) == 2 })
	all := p.incidents()
	if got := []string{describeIncident(all[0]), describeIncident(all[1])}; !slices.Equal(got, []string{"open black+", "resolved black-"}) || all[1]["reopened"] != 0.0 {
		t.Errorf("the incidents are %q, %v", got, all)
	}
	p.expectShown(true, "open black+")
}
