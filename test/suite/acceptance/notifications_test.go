package acceptance_test

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// publicURL is where people reach the gateway, as links in messages have it.
const publicURL = "https://monitor.example"

// startReceiver starts a receiver with a signing key of its own and creates its destination.
func startReceiver(t *testing.T, env *scenario.Env, name string) (r *webhookreceiver.Receiver, destinationID string) {
	t.Helper()
	key := "the-own-signing-key-of-" + name
	r, err := webhookreceiver.Start(webhookreceiver.Config{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, create(t, env.Service, "/api/v1/destinations", "destination_id", map[string]any{
		"name": name, "kind": "webhook", "config": map[string]any{}, "secrets": map[string]any{"url": r.URL(), "signing_key": key},
	})
}

// notified is a gateway with destinations and routes.
type notified struct {
	env       *scenario.Env
	everybody []*told                   // of the default route, in every channel
	system    *webhookreceiver.Receiver // of the default route
	other     *webhookreceiver.Receiver // of a route for streams of another channel
}

// startNotified starts a gateway and makes its destinations and routes.
func startNotified(t *testing.T) (n notified) {
	t.Helper()
	everybody, settings := startChannels(t)
	n = notified{env: startEnv(t, append(settings, "PUBLIC_URL="+publicURL)...), everybody: everybody}
	var ids [2]string
	n.system, ids[0] = startReceiver(t, n.env, "system")
	n.other, ids[1] = startReceiver(t, n.env, "other")
	byDefault := []string{ids[0]}
	for _, c := range n.everybody {
		c.createDestination(t, n.env.Service)
		byDefault = append(byDefault, c.id)
	}
	create(t, n.env.Service, "/api/v1/routes", "route_id", map[string]any{
		"name": "another channel", "match": map[string]any{"metadata": map[string]any{"channel_name": "Another Channel"}}, "destinations": []string{ids[1]},
	})
	routes := callOK(t, n.env.Service, http.MethodGet, "/api/v1/routes", nil)["routes"].([]any)
	last := routes[len(routes)-1].(map[string]any)["route_id"].(string)
	callOK(t, n.env.Service, http.MethodPatch, "/api/v1/routes/"+last, map[string]any{"destinations": byDefault})
	return n
}

// Every channel is told from the onset to the recovery of one incident. How each edits, pushes and
// counts its messages: adapters/notifier.
func TestEveryChannelTellsTheStoryOfAnIncident(t *testing.T) { // section 19
	runTimeline(t, 1)
	n := startNotified(t)
	assertEveryKind(t, n.env.Service, n.everybody)
	p := n.env.Watch(t, scenario.Video{Config: livestream.Config{Preroll: 30 * time.Second}})

	p.GoBlack()
	waitAll(t, n.everybody, 60*time.Second, "Black video", "映像が真っ黒", "")
	eventually(t, 75*time.Second, "the incident has its picture", func() bool { return newestIncident(p)["picture"] != nil })
	p.Silence(true)
	waitAll(t, n.everybody, 60*time.Second, "Black video + No sound", "映像が真っ黒＋無音", "")
	// A first message waits 3 s for the picture. Where it came later and messages are not edited, this one has it.
	eventually(t, 20*time.Second, "every channel has the picture", func() bool {
		return !slices.ContainsFunc(n.everybody, hasNoPicture)
	})

	first, second := n.everybody[0], n.everybody[1]
	follow(t, p.Service, first.link(t, first.words("Acknowledge", "対応する")), "山田 Ann")
	waitAll(t, n.everybody, 20*time.Second, "Acknowledged by 山田 Ann", "対応者: 山田 Ann", "acknowledged")

	follow(t, p.Service, second.link(t, second.words("Silence 1 h", "1時間ミュート")), "Bob")
	p.Black(false)
	p.Silence(false)
	waitAll(t, n.everybody, 120*time.Second, "RESOLVED", "復旧", "resolved")
	p.End()
	p.WaitEvent(scenario.Ended, time.Minute)

	for _, c := range n.everybody {
		assertPicture(t, n.env.Service, c)
	}
	assertSequence(t, n.system, p)
	if got := n.other.All(); len(got) > 0 {
		t.Errorf("the receiver of another channel got %v", got)
	}
	assertNoFailures(t, n.env.Service)
}

// newestIncident returns the incident of a stream that was opened last.
func newestIncident(p *scenario.Stream) map[string]any {
	p.T.Helper()
	all := callOK(p.T, p.Service, http.MethodGet, "/api/v1/incidents?monitor_id="+p.ID, nil)["incidents"].([]any)
	if len(all) == 0 {
		p.T.Fatal("the stream has no incident")
	}
	return all[0].(map[string]any)
}

// follow sends the form of a link with a name, as a browser without an API key does. The tests of
// adapters/httpapi read the pages, and click twice.
func follow(t *testing.T, s *system.Service, path, by string) {
	t.Helper()
	answer, err := http.PostForm(s.URL()+path, url.Values{"by": {by}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the form of %s is answered %s", path, answer.Status)
	}
}

// assertEveryKind asserts that the test has a destination of every kind.
func assertEveryKind(t *testing.T, s *system.Service, all []*told) {
	t.Helper()
	for _, k := range callOK(t, s, http.MethodGet, "/api/v1/destination-kinds", nil)["kinds"].([]any) {
		kind := k.(map[string]any)["kind"].(string)
		if kind != "webhook" && !slices.ContainsFunc(all, func(c *told) bool { return c.kind == kind }) {
			t.Errorf("the test has no %s", kind)
		}
	}
}

func hasNoPicture(c *told) bool { return c.picture() == "" }

// picture returns the first picture in the messages of a channel; empty: no message has one.
func (c *told) picture() string {
	for _, m := range c.messages() {
		if m.Picture != "" {
			return m.Picture
		}
	}
	return ""
}

// assertPicture asserts that a link to the picture in a message of the channel shows it.
func assertPicture(t *testing.T, s *system.Service, c *told) {
	t.Helper()
	link, linked := strings.CutPrefix(c.picture(), publicURL)
	if !linked { // it was uploaded
		return
	}
	answer, err := http.Get(s.URL() + link) // without a key
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := jpeg.Decode(answer.Body); answer.StatusCode != http.StatusOK || err != nil {
		t.Errorf("the link to the picture answers %d, %v", answer.StatusCode, err)
	}
}

// assertSequence asserts that a receiver got all events of the stream in order, numbered
// from 1 and signed with its own key.
func assertSequence(t *testing.T, r *webhookreceiver.Receiver, p *scenario.Stream) {
	t.Helper()
	want := p.Events(p.ID)
	eventually(t, 20*time.Second, "the destination has every event", func() bool { return len(r.All()) >= len(want) })
	got := r.All()
	if len(got) != len(want) {
		t.Fatalf("%d deliveries, want %d", len(got), len(want))
	}
	for n, d := range got {
		var body struct{ Sequence int }
		if err := json.Unmarshal(d.Body, &body); err != nil || body.Sequence != n+1 || d.EventID != want[n].EventID || !d.Verified {
			t.Errorf("delivery %d is %s with sequence %d, %v, want %s", n+1, d, body.Sequence, err, want[n].EventType)
		}
		if d.EventType == scenario.BlackoutRecovered && !bytes.Contains(want[n].Body, []byte(`"evidence":{`)) { // section 16.2
			t.Errorf("the recovery has no evidence: %s", want[n].Body)
		}
	}
}

// assertNoFailures asserts that every delivery was accepted at once, and that the gateway
// warns of none.
func assertNoFailures(t *testing.T, s *system.Service) {
	t.Helper()
	deliveries := func() []any {
		return callOK(t, s, http.MethodGet, "/api/v1/deliveries?limit=100", nil)["deliveries"].([]any)
	}
	// The receiver has the last one before the gateway has recorded it.
	eventually(t, 10*time.Second, "every delivery is recorded", func() bool {
		return !slices.ContainsFunc(deliveries(), func(d any) bool { return d.(map[string]any)["state"] == "pending" })
	})
	for _, d := range deliveries() {
		d := d.(map[string]any)
		if d["state"] != "delivered" || d["last_error"] != nil {
			t.Errorf("a delivery to %v is %v: %v", d["destination"], d["state"], d["last_error"])
		}
		for _, a := range d["attempts"].([]any) {
			if a := a.(map[string]any); a["error"] != nil {
				t.Errorf("an attempt at %v failed: %v", d["destination"], a["error"])
			}
		}
	}
	for _, l := range s.Log() {
		if (l.Level == "WARN" || l.Level == "ERROR") && (l.Component == "destinations" || l.Component == "messages") {
			t.Errorf("the gateway logs %s", l.Raw)
		}
	}
}
