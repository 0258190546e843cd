package incident_test

import (
	"testing"
	"time"

	spans "github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

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
