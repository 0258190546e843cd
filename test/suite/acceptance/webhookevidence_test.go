package acceptance_test

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// webhookEvidence is the object evidence of a payload; nil: it has none.
type webhookEvidence struct {
	EventID string            `json:"event_id"`
	Links   map[string]string `json:"links"`
}

func evidenceOf(t *testing.T, d webhookreceiver.Delivery) *webhookEvidence {
	t.Helper()
	var body struct {
		Evidence *webhookEvidence `json:"evidence"`
	}
	if err := json.Unmarshal(d.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Evidence
}

// The receiver refuses the first attempt of an alert and asks for another one after its
// pictures are stored.
func TestARetriedAlertShowsItsPictures(t *testing.T) { // section 16.2
	runTimeline(t, 1, 100*time.Second)
	p := watchStream(t, startEnv(t), livestream.Config{Preroll: 30 * time.Second}, nil)
	p.env.Receiver.Inject(1, httpfault.RetryAfter(http.StatusServiceUnavailable, 20*time.Second))
	p.goBlack()
	alert := p.waitEvent(blackoutAlert, 90*time.Second)
	p.Black(false)
	recovered := p.waitEvent(blackoutRecovered, 60*time.Second)

	var first webhookreceiver.Delivery
	for _, d := range p.env.Receiver.All() {
		if d.EventID == alert.EventID && d.Attempt == 1 {
			first = d
		}
	}
	if first.Accepted || evidenceOf(t, first) != nil || !bytes.HasPrefix(alert.Body, bytes.TrimSuffix(first.Body, []byte("}"))) {
		t.Errorf("the first attempt is %s, the second %s", first.Body, alert.Body)
	}
	for _, d := range []webhookreceiver.Delivery{alert, recovered} {
		e := evidenceOf(t, d)
		if e == nil || e.Links["onset"] == "" || e.Links["before"] == "" {
			t.Fatalf("%s is %s, want links to pictures", d.EventType, d.Body)
		}
		if d.EventID == alert.EventID && e.EventID != alert.EventID {
			t.Errorf("the alert shows the evidence of event %s", e.EventID)
		}
		for variant, link := range e.Links {
			status, picture := download(t, p.env.Service, strings.TrimPrefix(link, p.env.Service.URL()))
			if status != http.StatusOK {
				t.Errorf("%s: the link to %s answers %d", d.EventType, variant, status)
			}
			if variant == "onset" {
				if _, err := jpeg.Decode(bytes.NewReader(picture)); err != nil {
					t.Errorf("%s: the picture cannot be read: %v", d.EventType, err)
				}
			}
		}
	}
}
