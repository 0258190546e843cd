package monitor_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestABlindSpotIsSummedUpInOneSentence(t *testing.T) {
	at := time.Date(2026, 11, 28, 4, 8, 0, 0, time.UTC)
	group := func(n int, class monitor.UnseenClass, egress string, after time.Duration) monitor.UnseenGroup {
		return monitor.UnseenGroup{Unseen: monitor.Unseen{Since: at.Add(after), Class: class, Egress: egress}, Monitors: n}
	}
	for name, c := range map[string]struct {
		groups  []monitor.UnseenGroup
		watched int
		want    string
	}{
		"nothing is unseen":        {nil, 6, `null`},
		"nothing is watched":       {nil, 0, `null`},
		"all, one address":         {[]monitor.UnseenGroup{group(6, monitor.Refused, "", 0)}, 6, `{"monitors":6,"watched":6,"since":"2026-11-28T04:08:00Z","class":"refused","egress":""}`},
		"the only stream":          {[]monitor.UnseenGroup{group(1, monitor.NoDNS, "", 0)}, 1, `{"monitors":1,"watched":1,"since":"2026-11-28T04:08:00Z","class":"dns","egress":""}`},
		"one of two":               {[]monitor.UnseenGroup{group(1, monitor.NoDNS, "", 0)}, 2, `null`},
		"two of six":               {[]monitor.UnseenGroup{group(2, monitor.Refused, "", 0)}, 6, `null`},
		"three of 15, a fifth":     {[]monitor.UnseenGroup{group(3, monitor.Refused, "a", 0)}, 15, `{"monitors":3,"watched":15,"since":"2026-11-28T04:08:00Z","class":"refused","egress":"a"}`},
		"three of 16, less":        {[]monitor.UnseenGroup{group(3, monitor.Refused, "a", 0)}, 16, `null`},
		"ten of 1,000":             {[]monitor.UnseenGroup{group(10, monitor.NoTool, "", 0)}, 1000, `{"monitors":10,"watched":1000,"since":"2026-11-28T04:08:00Z","class":"tool","egress":""}`},
		"nine of 1,000":            {[]monitor.UnseenGroup{group(9, monitor.NoTool, "", 0)}, 1000, `null`},
		"through two addresses":    {[]monitor.UnseenGroup{group(3, monitor.Refused, "a", 0), group(2, monitor.Refused, "b", -time.Minute)}, 6, `{"monitors":5,"watched":6,"since":"2026-11-28T04:07:00Z","class":"refused","egress":null}`},
		"for two reasons":          {[]monitor.UnseenGroup{group(3, monitor.Refused, "a", 0), group(2, monitor.NoDNS, "a", time.Minute)}, 6, `{"monitors":5,"watched":6,"since":"2026-11-28T04:08:00Z","class":null,"egress":"a"}`},
		"a third group is no news": {[]monitor.UnseenGroup{group(1, monitor.Refused, "a", 0), group(1, monitor.NoDNS, "b", 0), group(1, monitor.NoDNS, "b", 0)}, 3, `{"monitors":3,"watched":3,"since":"2026-11-28T04:08:00Z","class":null,"egress":null}`},
	} {
		got, err := json.Marshal(monitor.NewBlindSpot(c.groups, c.watched))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}
