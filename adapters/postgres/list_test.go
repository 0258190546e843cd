package postgres_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func listedIDs(page []registry.ListedMonitor) (list []monitor.ID) {
	for _, m := range page {
		list = append(list, m.ID)
	}
	return list
}

func TestAListAnswersWhatAnOperatorAsks(t *testing.T) { // section 16.6
	t.Parallel()
	s := open(t, database(t))
	names := map[monitor.ID]string{}
	add := func(n int, name, metadata string, reports ...monitor.Report) monitor.Monitor {
		t.Helper()
		m := registration(n)
		m.Metadata = json.RawMessage(metadata)
		if err := s.Insert(t.Context(), m, unlimited); err != nil {
			t.Fatal(err)
		}
		names[m.ID] = name
		for _, r := range reports {
			acceptReport(t, s, m.ID, r, monitor.Run)
		}
		return m
	}
	blind, waiting := report(), report()
	blind.Visibility = &monitor.Visibility{LastError: "yt-dlp: no answer", BlindSince: noon}
	waiting.Status, waiting.StreamStatus = monitor.Waiting, monitor.StreamUpcoming
	onset := time.Now().UTC().Add(-time.Minute).Truncate(time.Second)
	add(1, "quiet", `{"name":"50% off_air"}`, report())
	black := add(2, "black", `{"name":"\u591c\u306e\u914d\u4fe1"}`, report(trouble(detector.Blackout, onset)))
	add(3, "blind", `{"name":"Morning SHOW"}`, blind)
	add(4, "waiting", `{}`, waiting)
	dark := report()
	dark.Health.Video = monitor.Black
	add(6, "black, told later", `{}`, dark)
	ended := add(5, "ended", `{}`, report())
	if _, err := s.End(t.Context(), ended.ID, monitor.Stopped, "", nil, noon); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    registry.MonitorQuery
		want []string
	}{
		"all":                          {registry.MonitorQuery{}, []string{"ended", "black, told later", "waiting", "blind", "black", "quiet"}},
		"trouble":                      {registry.MonitorQuery{Trouble: true}, []string{"black, told later", "black"}},
		"blind":                        {registry.MonitorQuery{Blind: true}, []string{"blind"}},
		"live":                         {registry.MonitorQuery{Live: true}, []string{"black, told later", "blind", "black", "quiet"}},
		"live and in trouble":          {registry.MonitorQuery{Live: true, Trouble: true}, []string{"black, told later", "black"}},
		"a status and live":            {registry.MonitorQuery{Status: monitor.Waiting, Live: true}, nil},
		"text of the metadata":         {registry.MonitorQuery{Text: "morning show"}, []string{"blind"}},
		"text of escaped metadata":     {registry.MonitorQuery{Text: "夜の配信"}, []string{"black"}},
		"a percent sign is no pattern": {registry.MonitorQuery{Text: "0% OFF_"}, []string{"quiet"}},
		"an underscore is no pattern":  {registry.MonitorQuery{Text: "_____"}, nil},
		"a backslash is no escape":     {registry.MonitorQuery{Text: `\%`}, nil},
		"text of the URL":              {registry.MonitorQuery{Text: "V=00000000002"}, []string{"black"}},
		"an id":                        {registry.MonitorQuery{Text: string(black.ID)}, []string{"black"}},
		"text and a status":            {registry.MonitorQuery{Text: "show", Status: monitor.Stopped}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Limit = 200
			page, total, err := s.List(t.Context(), c.q)
			var got []string
			for _, m := range page {
				got = append(got, names[m.ID])
			}
			if err != nil || !slices.Equal(got, c.want) || total != len(c.want) {
				t.Errorf("listed are %v of %d, %v; want %v", got, total, err, c.want)
			}
		})
	}
	page, total, err := s.List(t.Context(), registry.MonitorQuery{Trouble: true, Limit: 1, Offset: 1})
	if err != nil || total != 2 || page[0].Incident == nil || page[0].Incident.Conditions[0].Name != "black" || page[0].Incident.ID == "" || page[0].Incident.OpenedAt.IsZero() {
		t.Errorf("the incident is %+v, %v", page, err)
	}
}

func TestPagesAfterACursorMissNothingThatWasThere(t *testing.T) { // section 16.6
	t.Parallel()
	s := open(t, database(t))
	var want, got []monitor.ID
	for n := range 7 {
		want = append([]monitor.ID{register(t, s, n).ID}, want...)
	}
	for q := (registry.MonitorQuery{Limit: 3}); ; {
		page, _, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, listedIDs(page)...)
		q.Before = page[len(page)-1].Seq
		register(t, s, 100+len(got)) // it moves every offset
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages are %v, want %v", got, want)
	}
}
