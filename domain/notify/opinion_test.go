package notify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// alerted is an episode with an event, which is named as its condition.
func alerted(name incident.Name, sec float64) incident.Began {
	b := began(name, sec)
	b.Alert = &incident.Alert{EventID: string(name), At: at(sec)}
	return b
}

// answered is an answer of a status and a body to the question about an event.
func answered(name incident.Name, status int, body string) incident.Answered {
	return incident.Answered{EventID: string(name), Opinion: incident.ReadOpinion(status, []byte(body))}
}

func TestASecondOpinionHoldsBackOrDropsMessagesToPeople(t *testing.T) { // section 19.9
	ask := incident.Ask{CoolDown: time.Minute}
	drop, keep := answered(black, 200, `{"opinion":"drop","reason":"the end screen"}`), answered(black, 200, `{"opinion":"keep"}`)
	over := func(w *world, sec float64) *world { return w.at(sec, ended(black, sec)).at(sec + 3000) }
	for name, c := range map[string]struct {
		power   notify.OpinionPower
		happens func(w *world)
		want    string
	}{
		"keep":                                {notify.OpinionsDrop, func(w *world) { over(w.at(0, alerted(black, 0)).at(2, ask).at(4, keep), 60) }, "4 opened!, 60 updated, 120 recovered"},
		"drop, then no recovery is told":      {notify.OpinionsDrop, func(w *world) { over(w.at(0, alerted(black, 0)).at(2, ask).at(4, drop), 60) }, ""},
		"drop, however severe it gets":        {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(4, drop).at(5000) }, ""},
		"drop, where opinions only hold":      {notify.OpinionsHold, func(w *world) { over(w.at(0, alerted(black, 0)).at(2, ask).at(4, drop), 60) }, "4 opened!, 60 updated, 120 recovered"},
		"drop, where opinions are only noted": {notify.OpinionsNote, func(w *world) { over(w.at(0, alerted(black, 0)).at(2, ask).at(4, drop), 60) }, "0 opened!, 60 updated, 120 recovered"},
		"nobody is to be asked":               {"", func(w *world) { over(w.at(0, alerted(black, 0)), 60) }, "0 opened!, 60 updated, 120 recovered"},
		"label": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(4, answered(black, 200, `{"opinion":"label","label":"end screen","confidence":0.9,"severity":0}`)).at(60)
		}, "4 opened!"},
		"silence":     {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(60) }, "10 opened!"},
		"nobody asks": {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(60) }, "10 opened!"},
		"late":        {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(10.5, drop).at(60) }, "10 opened!"},
		"late, and nothing was told yet": {notify.OpinionsDrop, func(w *world) {
			w.silence(notify.Silence{EndsAt: at(30)}).at(0, alerted(black, 0)).at(2, ask).at(10.5, drop).at(60)
		}, "30 opened!"},
		"in time, and nothing was told yet": {notify.OpinionsDrop, func(w *world) {
			w.silence(notify.Silence{EndsAt: at(30)}).at(0, alerted(black, 0)).at(2, ask).at(4, drop).at(60)
		}, ""},
		"409":       {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(3, answered(black, 409, "")).at(60) }, "3 opened!"},
		"429":       {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(3, answered(black, 429, "")).at(60) }, "3 opened!"},
		"malformed": {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(black, 0)).at(2, ask).at(3, answered(black, 200, "<html>")).at(60) }, "3 opened!"},
		"an alert in the cool-down is not asked about": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(4, drop).at(20, ended(black, 20)).at(40, alerted(black, 40)).at(42, ask).at(60)
		}, "42 opened!"},
		"an alert that ends before somebody is asked is told as without": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(1, ended(black, 1)).at(2, ask).at(60)
		}, "1 opened"},
		"one that ends while somebody is asked waits for the answer": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(3, ended(black, 3)).at(5, drop).at(200)
		}, ""},
		"what nobody is asked about does not wait": {notify.OpinionsDrop, func(w *world) { w.at(0, alerted(incident.Late, 0)).at(2, ask).at(60) }, "0 opened!"},
		"another condition is told although the first was dropped": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(4, drop).at(30, alerted(incident.NoMedia, 30)).at(32, ask).at(60)
		}, "32 opened!"},
		"a condition that was dropped is not worse": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(incident.NoMedia, 0)).at(2, ask).at(3, answered(incident.NoMedia, 200, `{"opinion":"keep"}`))
			w.at(100, alerted(black, 100)).at(102, ask).at(104, drop).at(200, ended(incident.NoMedia, 200)).at(205)
		}, "3 opened!, 200 updated"},
		"and one that is kept is, once it was": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(incident.NoMedia, 0)).at(2, ask).at(3, answered(incident.NoMedia, 200, `{"opinion":"keep"}`))
			w.at(100, alerted(black, 100)).at(102, ask).at(104, keep).at(200)
		}, "3 opened!, 104 worse!"},
		"a reopening that is dropped is not told, nor is its end": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(4, keep).at(60, ended(black, 60)).at(700, alerted(black, 700)).at(702, ask).at(704, drop)
			over(w, 800)
		}, "4 opened!, 60 updated, 120 recovered"},
		"the end of what was told is told, although a reopening in between was dropped": {notify.OpinionsDrop, func(w *world) {
			w.at(0, alerted(black, 0)).at(2, ask).at(4, keep)
			w.destinations[0].down = func(now time.Time) bool { return now.After(at(100)) && now.Before(at(1000)) }
			w.at(60, ended(black, 60)).at(200, alerted(black, 200)).at(202, ask).at(204, drop).at(210, ended(black, 210)).at(2000)
		}, "4 opened!, 60 updated, 1000 recovered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, edits())
			w.opinions = c.power
			c.happens(w)
			w.expect(map[string]string{"edits": c.want})
		})
	}
}

func TestWhatIsDroppedSaysWhyAlsoOnceItIsOver(t *testing.T) {
	w := newWorld(t, edits())
	w.opinions = notify.OpinionsDrop
	dropped := func() string { return w.facts(w.destinations[0], w.threads).Plan().Messages[0].Dropped }
	w.at(0, alerted(black, 0)).at(2, incident.Ask{})
	if got := dropped(); got != "" {
		t.Errorf("what waits is %q", got)
	}
	w.at(4, answered(black, 200, `{"opinion":"drop","reason":"the end\nscreen"}`))
	if w.at(5, alerted(silent, 5)); dropped() != "" {
		t.Errorf("while another alert waits: %q", dropped())
	}
	w.at(7, incident.Ask{}).at(8, answered(silent, 200, `{"opinion":"drop"}`)).at(10, ended(silent, 10))
	for _, sec := range []float64{20, 60, 300} {
		if w.at(sec, ended(black, 50)); dropped() != "dropped by the second opinion: the end screen" {
			t.Errorf("after %v s: %q", sec, dropped())
		}
	}
}

func TestADeliveryIsNotDroppedThatWaitsOrHasToldSomethingElse(t *testing.T) {
	const noMedia = incident.NoMedia
	keep, drop := answered(noMedia, 200, `{"opinion":"keep"}`), answered(black, 200, `{"opinion":"drop"}`)
	waits := newWorld(t, edits().delayed(5*time.Minute))
	waits.opinions = notify.OpinionsDrop
	waits.at(0, alerted(black, 0), alerted(noMedia, 0)).at(2, incident.Ask{}).at(4, drop, keep).at(20)
	told := newWorld(t, edits())
	told.opinions = notify.OpinionsDrop
	told.at(0, alerted(noMedia, 0)).at(2, incident.Ask{}).at(4, keep).at(10, alerted(black, 10)).at(12, incident.Ask{}).at(14, drop).at(20, ended(noMedia, 20))
	for n, w := range []*world{waits, told} {
		if m := w.facts(w.destinations[0], w.threads).Plan().Messages[0]; m.Dropped != "" {
			t.Errorf("%d: %q", n, m.Dropped)
		}
	}
}

func TestAMessageHasNothingOfWhatIsDroppedButItsEndHasAll(t *testing.T) {
	w := newWorld(t, edits())
	w.opinions = notify.OpinionsDrop
	told := func() (names []incident.Name, severity int) {
		m := w.facts(w.destinations[0], w.threads).Plan().Messages[0]
		return m.Told.Conditions.Names(), m.Situation.SeverityNow
	}
	w.at(0, alerted(black, 0), alerted(silent, 0)).at(2, incident.Ask{}).at(4, answered(black, 200, `{"opinion":"drop"}`), answered(silent, 200, `{"opinion":"keep"}`)).at(60)
	if names, severity := told(); !slices.Equal(names, []incident.Name{silent}) || severity != 1 {
		t.Errorf("told are %v of severity %d", names, severity)
	}
	w.at(60, ended(black, 60), ended(silent, 60)).at(300)
	if names, _ := told(); !slices.Equal(names, []incident.Name{black, silent}) {
		t.Errorf("the end tells of %v", names)
	}
}

func TestWhatIsDroppedIsOfNoStorm(t *testing.T) { // section 19.7
	w := newWorldOf(t, 12, edits())
	w.opinions = notify.OpinionsDrop
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	w.together(0, alerted(black, 0), all...).together(2, incident.Ask{}, all...)
	w.together(4, answered(black, 200, `{"opinion":"drop"}`), all[:10]...).at(300)
	if got := len(w.destinations[0].sent); got != 4 { // each of two: opened, worse
		t.Errorf("%d messages: %+v", got, w.destinations[0].sent)
	}

	w = newWorldOf(t, 12, edits())
	w.opinions = notify.OpinionsDrop
	w.together(0, alerted(black, 0), all...).together(2, incident.Ask{}, all...).together(4, answered(black, 200, `{"opinion":"keep"}`), all...)
	w.together(30, alerted(incident.NoMedia, 30), 5).together(32, incident.Ask{}, 5).together(34, answered(incident.NoMedia, 200, `{"opinion":"drop"}`), 5).at(60)
	if got := len(w.destinations[0].sent); got != 3 { // two before there was a storm, and the storm
		t.Errorf("%d messages: %+v", got, w.destinations[0].sent)
	}
}
