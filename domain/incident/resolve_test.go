package incident_test

import (
	"slices"
	"testing"
	"time"

	spans "github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// expectAll checks all incidents, the oldest first.
func (h *history) expectAll(want ...string) {
	h.t.Helper()
	var got []string
	for _, i := range h.all {
		got = append(got, describe(i))
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("the incidents are %q, want %q", got, want)
	}
}

func TestWhatAPersonResolvesGoesOnUntilItEnds(t *testing.T) { // section 16.1
	resolved := []incident.Input{began(black, 0), incident.Resolve{By: "ann"}}
	still := 60 + incident.ResolvedFor.Seconds() // when a new incident opens
	for name, c := range map[string]struct {
		happens func(*history)
		want    []string
	}{
		"for half an hour": {func(h *history) { h.sweep(still - 1) }, []string{"resolved 1 black+"}},
		"and it comes back soon after its end": {func(h *history) {
			h.step(100, ended(black, 90))
			h.step(180, began(black, 150))
		}, []string{"resolved 1 black-", "open 1 black+"}},
		"and a worker without its state alerts it anew": {func(h *history) {
			h.step(180, began(black, 150))
			h.step(181, began(black, 150))
			h.sweep(still - 1)
		}, []string{"resolved 1 black+"}},
		"whoever acknowledges it": {func(h *history) { h.step(400, incident.Acknowledge{By: "bob"}); h.sweep(still) }, []string{"resolved 1 black- ack", "open 3 black+"}},
		"each time for half an hour": {func(h *history) {
			h.sweep(still)
			h.step(still+60, incident.Resolve{By: "bob"})
			h.sweep(still + still)
		}, []string{"resolved 1 black-", "resolved 3 black-", "open 3 black+"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.step(60, resolved...)
			h.expect("resolved 1 black+")
			c.happens(h)
			h.expectAll(c.want...)
			if first := h.all[0]; first.Reopened > 0 || first.ResolvedBy != "ann" || !first.ResolvedAt.Equal(at(60)) {
				t.Errorf("the first incident is %+v", first)
			}
		})
	}
}

func TestAnIncidentThatTakesOverHasTheTrueOnset(t *testing.T) { // section 16.1
	h := newHistory(t)
	h.step(60, incident.Began{Condition: black, StartedAt: at(0), At: at(30), Alert: &incident.Alert{EventID: "e1", At: at(30)}}, incident.Resolve{By: "ann"})
	h.sweep(60 + incident.ResolvedFor.Seconds())
	old, i := h.all[0], h.newest()
	if i.Conditions[0].Alert == nil || i.Conditions[0].Alert.EventID != "e1" || !i.StartedAt.Equal(at(0)) || !i.OpenedAt.Equal(at(1860)) || spansOf(i, black) != "0-" || i.AcknowledgedBy != "" {
		t.Errorf("the incident is %+v", i)
	}
	if got := spansOf(old, black); got != "0-1860" || !old.DueAt().IsZero() {
		t.Errorf("the black picture of the old one is %s, due %v", got, old.DueAt())
	}
	if want := []incident.EntryKind{incident.WasOpened, incident.WasResolved, incident.WasOpened}; !slices.Equal(h.log, want) || len(h.rises) > 0 {
		t.Errorf("the log is %v, %v; want %v", h.log, h.rises, want)
	}
	h.step(1900, ended(black, 1000)) // its recovery waited in a worker
	h.sweep(5000)
	if h.expect("resolved 3 black-"); i.ResolvedAt.Before(i.OpenedAt) {
		t.Errorf("opened at %v, resolved at %v", i.OpenedAt, i.ResolvedAt)
	}
}

func TestAnAlertThatWaitedIsAnEpisodeOfWhatIsResolved(t *testing.T) { // section 16.1
	late := incident.Began{Condition: silent, StartedAt: at(45), At: at(75)}
	lateBlack := incident.Began{Condition: black, StartedAt: at(45), At: at(75)}
	byItself := []incident.Input{began(black, 0), incident.Acknowledge{By: "ann"}, ended(black, 40)}
	for name, c := range map[string]struct {
		before []incident.Input
		after  []incident.Input
		until  float64
		want   []string
	}{
		"and is over":                         {byItself, []incident.Input{late, ended(silent, 95)}, 5000, []string{"resolved 1 black- silent- ack"}},
		"and is over later":                   {byItself, []incident.Input{late, ended(silent, 110)}, 5000, []string{"resolved 1 black- silent- ack"}},
		"and lasts":                           {byItself, []incident.Input{late}, 121, []string{"open 1 black- silent+ ack"}},
		"and lasts as a person has resolved":  {[]incident.Input{began(black, 0), ended(black, 40), incident.Resolve{By: "ann"}}, []incident.Input{late}, 121, []string{"resolved 1 black- silent-", "open 1 silent+"}},
		"and is what the person has resolved": {[]incident.Input{began(black, 0), ended(black, 40), incident.Resolve{By: "ann"}}, []incident.Input{lateBlack}, 1000, []string{"resolved 1 black×2+"}},
		"and lasts for half an hour":          {[]incident.Input{began(black, 0), ended(black, 40), incident.Resolve{By: "ann"}}, []incident.Input{lateBlack}, 2000, []string{"resolved 1 black×2-", "open 3 black+"}},
	} {
		h := newHistory(t)
		h.step(40, c.before[:len(c.before)-1]...)
		h.step(90, c.before[len(c.before)-1])
		h.sweep(100)
		if i := h.newest(); i.State != incident.Resolved {
			t.Fatalf("%s: %s before it", name, describe(i))
		}
		h.step(120, c.after...)
		if i := h.all[0]; i.State != incident.Resolved || i.Reopened > 0 || len(h.all) > 1 {
			t.Errorf("%s: at once it is %s", name, describe(i))
		}
		h.step(121, incident.Tick{})
		h.sweep(c.until)
		h.expectAll(c.want...)
	}
}

func TestAnOutageWithoutSoundIsOverOnceAPersonSaysSo(t *testing.T) { // section 16.1
	picture := func(since float64) spans.Current {
		return spans.Current{Seen: at(1000), Lanes: map[spans.Lane]spans.Open{spans.Video: {State: spans.OK, Since: at(since)}, spans.Audio: {State: spans.Unknown}}}
	}
	for name, c := range map[string]struct {
		resolve bool
		since   float64
		ends    bool
	}{
		"nobody has resolved it":           {false, 600, false},
		"a person has":                     {true, 600, true},
		"the picture was there throughout": {true, 400, false}, // the outage is of the sound
	} {
		h := newHistory(t)
		h.step(560, incident.Began{Condition: incident.NoMedia, StartedAt: at(500), At: at(560)})
		if c.resolve {
			h.step(700, incident.Resolve{By: "ann"})
		}
		inputs := h.newest().Unreported(at(1001), picture(c.since))
		for _, in := range inputs {
			h.step(1001, in)
		}
		if i := h.newest(); i.Lasts() == c.ends {
			t.Errorf("%s: %v leave %s", name, inputs, describe(i))
		}
	}
}

func TestAConditionWithoutAReportedEndEndsWhenTheLanesAreGood(t *testing.T) { // section 16.1
	type lanes map[spans.Lane]spans.Open
	since := func(s spans.State, sec float64) spans.Open { return spans.Open{State: s, Since: at(sec)} }
	for name, c := range map[string]struct {
		condition incident.Name
		lanes     lanes
		ended     float64 // 0: it lasts
	}{
		"a good picture for 3 min":               {black, lanes{spans.Video: since(spans.OK, 820)}, 820},
		"a good picture for less":                {black, lanes{spans.Video: since(spans.OK, 821)}, 0},
		"a good picture since before the onset":  {black, lanes{spans.Video: since(spans.OK, 1)}, 500},
		"another bad picture":                    {black, lanes{spans.Video: since("frozen", 700)}, 0},
		"an unknown picture":                     {black, lanes{spans.Video: since(spans.Unknown, 700)}, 0},
		"good sound, of a picture":               {black, lanes{spans.Audio: since(spans.OK, 700)}, 0},
		"good sound":                             {silent, lanes{spans.Audio: since(spans.OK, 700)}, 700},
		"picture and sound after an outage":      {incident.NoMedia, lanes{spans.Video: since(spans.OK, 700), spans.Audio: since(spans.OK, 710)}, 710},
		"a picture alone after an outage":        {incident.NoMedia, lanes{spans.Video: since(spans.OK, 700), spans.Audio: since(spans.Unknown, 710)}, 0},
		"a stream that is live after blindness":  {incident.Blind, lanes{spans.Stream: since(spans.Live, 700)}, 700},
		"a stream that is awaited after that":    {incident.Blind, lanes{spans.Stream: since(spans.Upcoming, 700)}, 700},
		"a stream that is unknown after that":    {incident.Blind, lanes{spans.Stream: since(spans.Unknown, 700)}, 0},
		"a late stream that is live":             {incident.Late, lanes{spans.Stream: since(spans.Live, 700)}, 700},
		"a late stream that is awaited":          {incident.Late, lanes{spans.Stream: since(spans.Upcoming, 700)}, 0},
		"no lane at all":                         {black, nil, 0},
		"good lanes after a monitor that failed": {incident.Error, lanes{spans.Video: since(spans.OK, 1), spans.Stream: since(spans.Live, 1)}, 0},
	} {
		h := newHistory(t)
		h.step(530, began(c.condition, 500))
		current := spans.Current{Lanes: c.lanes, Seen: at(1000)}
		inputs := h.newest().Unreported(at(1001), current)
		for _, in := range inputs {
			h.step(1001, in)
		}
		i := h.newest()
		if ended := !i.Conditions[0].Lasts(); ended != (c.ended > 0) || ended && !i.Conditions[0].EndedAt.Equal(at(c.ended)) {
			t.Errorf("%s: %s, ended at %v", name, describe(i), i.Conditions[0].EndedAt)
		}
		if (len(inputs) > 0) != (c.ended > 0) {
			t.Errorf("%s: the inputs are %v", name, inputs)
		}
		if late := h.newest().Unreported(at(1000).Add(spans.MaxGap+time.Second), current); len(late) > 0 {
			t.Errorf("%s: %v follow without a report for longer than %v", name, late, spans.MaxGap)
		}
	}
}
