package incident_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

func TestAnAnswerIsReadOrUnknown(t *testing.T) { // section 19.9
	for body, want := range map[string]string{
		`200 {"opinion":"keep"}`:                          "keep ",
		`200 {"opinion":"drop","reason":" end\nscreen "}`: "drop end screen",
		`201 {"opinion":"label","label":"end screen","confidence":0.93,"severity":1,"reason":"a logo","more":[]}`: "label end screen: a logo 0.93 1",
		`200 {"opinion":"label","label":"slate","confidence":0,"severity":0}`:                                     "label slate 0 0",
		`200 {"opinion":"label","label":"x","confidence":1.01,"severity":1}`:                                      "unknown its label lacks",
		`200 {"opinion":"label","label":"x","confidence":0.5,"severity":4}`:                                       "unknown its label lacks",
		`200 {"opinion":"label","label":"x","severity":1}`:                                                        "unknown its label lacks",
		`200 {"opinion":"label","confidence":0.5,"severity":1}`:                                                   "unknown its label lacks",
		`200 {"opinion":"label","label":"x","confidence":"high","severity":1}`:                                    "unknown its answer is no JSON object",
		`200 {"opinion":"not_asked"}`:                                                                             "unknown its opinion is \"not_asked\"",
		`200 {}`:                                                                                                  "unknown its opinion is \"\"",
		`200 <html>keep</html>`:                                                                                   "unknown its answer is no JSON object",
		`200 {"opinion":"drop"} and more`:                                                                         "unknown its answer is no JSON object",
		`200 `:                                                                                                    "unknown its answer is no JSON object",
		`302 {"opinion":"drop"}`:                                                                                  "unknown it answered with status 302",
		`409 {"opinion":"drop"}`:                                                                                  "unknown it does not know this version",
		`429 {"opinion":"drop"}`:                                                                                  "unknown it is busy",
		`500 {"opinion":"drop"}`:                                                                                  "unknown it answered with status 500",
	} {
		var status int
		if _, err := fmt.Sscan(body, &status); err != nil {
			t.Fatal(err)
		}
		o := incident.ReadOpinion(status, []byte(body[4:]))
		got := fmt.Sprintf("%s %s", o.Verdict, o.Text())
		if o.Verdict == incident.OpinionLabel {
			got += fmt.Sprintf(" %v %d", o.Confidence, o.Severity)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", body, got, want)
		}
	}
	long := incident.ReadOpinion(200, []byte(`{"opinion":"drop","reason":"`+strings.Repeat("あ", 5000)+`"}`))
	if len(long.Reason) > 500 || !strings.HasPrefix(long.Reason, "ああ") {
		t.Errorf("a long reason has %d bytes", len(long.Reason))
	}
}

// verdicts says what became of the opinions about the newest incident's alerts, and when Ask is due.
func verdicts(h *history) string {
	var all []string
	for _, c := range h.newest().Conditions {
		if c.Alert != nil && c.Alert.Opinion != nil {
			all = append(all, fmt.Sprintf("%s %s", c.Name, c.Alert.Opinion.Verdict))
		}
	}
	if due := h.newest().OpinionDueAt(); !due.IsZero() {
		all = append(all, fmt.Sprintf("due %v", due.Sub(eight).Seconds()))
	}
	return strings.Join(all, ", ")
}

func TestAnAlertIsAskedAboutOnce(t *testing.T) {
	alerted := func(name incident.Name, sec float64) incident.Began {
		return incident.Began{Condition: name, StartedAt: at(sec - 30), At: at(sec - 5), Alert: &incident.Alert{EventID: fmt.Sprint(name, sec)}}
	}
	ask, drop := incident.Ask{CoolDown: time.Minute}, incident.ReadOpinion(200, []byte(`{"opinion":"drop"}`))
	answer := func(name incident.Name, sec float64) incident.Answered {
		return incident.Answered{EventID: fmt.Sprint(name, sec), Opinion: drop}
	}
	h := newHistory(t)
	for n, c := range []struct {
		sec   float64
		in    incident.Input
		asked int // conditions that are to be asked about now
		want  string
	}{
		{100, alerted(black, 100), 0, "due 102"},
		{101, ask, 0, "due 102"},
		{101, alerted(incident.Late, 101), 0, "due 102"}, // nobody is asked about it
		{101, began(silent, 60), 0, "due 102"},           // nor about what has no event
		{102, ask, 1, "black asked, due 112"},
		{103, ask, 0, "black asked, due 112"},
		{104, answer(silent, 60), 0, "black asked, due 112"},
		{104, answer(black, 100), 0, "black drop"},
		{105, answer(black, 100), 0, "black drop"},
		{106, alerted(incident.NoMedia, 106), 0, "black drop, due 108"},
		{108, ask, 0, "black drop, no_media not_asked"}, // the cool-down
		{200, ended(black, 200), 0, "black drop, no_media not_asked"},
		{300, alerted(black, 300), 0, "no_media not_asked, due 302"},
		{302, ask, 1, "black asked, no_media not_asked, due 312"},
		{312, ask, 0, "black unknown, no_media not_asked"}, // whoever asked is gone
		{313, answer(black, 300), 0, "black unknown, no_media not_asked"},
		{400, ended(black, 400), 0, "black unknown, no_media not_asked"},
		{500, alerted(black, 500), 0, "no_media not_asked, due 502"},
		{501, ended(black, 501), 0, "no_media not_asked"}, // it ended before
		{600, alerted(black, 600), 0, "no_media not_asked, due 602"},
		{611, ask, 0, "black not_asked, no_media not_asked"}, // too late
	} {
		h.step(c.sec, c.in)
		if got, asked := verdicts(h), len(h.newest().AskedNow(at(c.sec))); got != c.want || asked != c.asked {
			t.Errorf("%d: after %v s: %q, asked about %d; want %q, %d", n, c.sec, got, asked, c.want, c.asked)
		}
	}
	if got := fmt.Sprint(h.log); strings.Count(got, string(incident.SecondOpinion)) != 2 {
		t.Errorf("the log is %s", got)
	}
}

func TestTheCoolDownOutlivesTheIncident(t *testing.T) {
	h := newHistory(t)
	alert := func(id string) *incident.Alert { return &incident.Alert{EventID: id} }
	h.step(0, incident.Began{Condition: black, StartedAt: at(0), At: at(0), Alert: alert("a")})
	h.step(2, incident.Ask{CoolDown: time.Hour}, incident.Resolve{By: "ann"})
	h.step(10, incident.Began{Condition: silent, StartedAt: at(10), At: at(10), Alert: alert("b")})
	if h.step(12, incident.Ask{CoolDown: time.Hour}); len(h.all) != 2 || verdicts(h) != "black unknown, silent not_asked" {
		t.Errorf("%d incidents: %s", len(h.all), verdicts(h))
	}
}
