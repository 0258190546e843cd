package monitor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// code is the code of an error that a caller may see.
func code(err error) monitor.Code {
	if e, ok := errors.AsType[*monitor.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestAConfigIsValidWithinItsRanges(t *testing.T) { // decision A4
	if err := monitor.DefaultConfig().Valid(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	change := func(f func(*monitor.Config)) error {
		c := monitor.DefaultConfig()
		f(&c)
		return c.Valid()
	}
	for _, f := range []struct {
		name     string
		min, max int
		set      func(*monitor.Config, int)
	}{
		{"check_interval_sec", 1, 300, func(c *monitor.Config, n int) { c.CheckIntervalSec = n }},
		{"blackout_threshold_sec", 1, 3600, func(c *monitor.Config, n int) { c.SetThresholdSec(detector.Blackout, n) }},
		{"silence_threshold_sec", 1, 3600, func(c *monitor.Config, n int) { c.SetThresholdSec(detector.Silence, n) }},
		{"silence_db_threshold", -100, 0, func(c *monitor.Config, n int) { c.Set(detector.SilenceDB, float64(n)) }},
		{"start_delay_tolerance_sec", 0, 86400, func(c *monitor.Config, n int) { c.StartDelayToleranceSec = n }},
	} {
		for n, good := range map[int]bool{f.min - 1: false, f.min: true, f.max: true, f.max + 1: false} {
			err := change(func(c *monitor.Config) { f.set(c, n) })
			if (err == nil) != good {
				t.Errorf("%s = %d: %v", f.name, n, err)
			}
			if !good && (code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), f.name) ||
				!strings.Contains(err.Error(), fmt.Sprintf("%d to %d", f.min, f.max))) {
				t.Errorf("%s = %d: the message names not all of field and range: %v", f.name, n, err)
			}
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(-1), -100.001, 0.001} {
		if change(func(c *monitor.Config) { c.Set(detector.SilenceDB, x) }) == nil {
			t.Errorf("silence_db_threshold = %v is accepted", x)
		}
	}
	start, end := time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 22, 0, 0, 0, time.UTC)
	if err := change(func(c *monitor.Config) { c.ScheduledStartTime, c.ScheduledEndTime = &start, &end }); err != nil {
		t.Error(err)
	}
	if change(func(c *monitor.Config) { c.ScheduledStartTime, c.ScheduledEndTime = &end, &start }) == nil {
		t.Error("an end before the start is accepted")
	}
}

func TestEveryWrongValueIsNamedAtOnce(t *testing.T) { // decision A3
	start := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	c := monitor.DefaultConfig()
	c.CheckIntervalSec, c.StartDelayToleranceSec, c.ScheduledStartTime = 0, -1, &start
	c.SetThresholdSec(detector.Silence, 3601)
	err := c.Valid()
	for _, want := range []string{"check_interval_sec is 0", "silence_threshold_sec is 3601", "start_delay_tolerance_sec is -1", "scheduled_start_time is in the year 1999"} {
		if code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named: %v", want, err)
		}
	}
}

func TestJoinedRefusalsHaveTheCodeOfTheWorst(t *testing.T) {
	url, config, internal := monitor.Errorf(monitor.InvalidURL, "u"), monitor.Errorf(monitor.InvalidConfig, "c"), errors.New("disk full")
	for _, c := range []struct {
		errs []error
		code monitor.Code
		says string
	}{
		{nil, "", ""},
		{[]error{nil, url, nil}, monitor.InvalidURL, "INVALID_URL: u"},
		{[]error{url, url}, monitor.InvalidURL, "INVALID_URL: u. u"},
		{[]error{url, config}, monitor.InvalidConfig, "INVALID_CONFIG: u. c"},
		{[]error{url, internal}, "", "disk full"},
	} {
		err := monitor.Join(c.errs...)
		if code(err) != c.code || (err == nil) != (c.says == "") || err != nil && err.Error() != c.says {
			t.Errorf("%v are joined to %v, want %s", c.errs, err, c.says)
		}
	}
}

func TestAScheduledTimeIsInAPermittedYear(t *testing.T) { // decision A11
	west, east := time.FixedZone("", -12*60*60), time.FixedZone("", 14*60*60)
	for name, set := range map[string]func(*monitor.Config, *time.Time){
		"scheduled_start_time": func(c *monitor.Config, at *time.Time) { c.ScheduledStartTime = at },
		"scheduled_end_time":   func(c *monitor.Config, at *time.Time) { c.ScheduledEndTime = at },
	} {
		for at, good := range map[time.Time]bool{
			{}: false,
			time.Date(1999, 12, 29, 23, 59, 59, 0, time.UTC): false,
			time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC):    true,
			time.Date(2000, 1, 1, 0, 0, 0, 0, east):          true, // 1999 in UTC
			time.Date(1999, 12, 31, 20, 0, 0, 0, west):       true, // 2000 in UTC
			time.Date(9998, 12, 31, 23, 59, 59, 0, west):     true, // 9999 in UTC
			time.Date(9999, 1, 2, 23, 59, 59, 0, time.UTC):   true,
			time.Date(9999, 1, 3, 0, 0, 0, 0, time.UTC):      false,
			time.Date(9999, 12, 31, 23, 59, 59, 0, west):     false, // 10000 in UTC
		} {
			c := monitor.DefaultConfig()
			set(&c, &at)
			err := c.Valid()
			if (err == nil) != good {
				t.Errorf("%s = %v: %v", name, at, err)
			}
			if !good && (code(err) != monitor.InvalidConfig || !strings.Contains(err.Error(), "config."+name) || !strings.Contains(err.Error(), "2000 to 9998")) {
				t.Errorf("%s = %v: the message names not all of field and range: %v", name, at, err)
			}
		}
	}
}

func TestAMonitorIDIsMadeOfAUUID(t *testing.T) { // section 3.1
	uuid := [16]byte{0x01, 0x90, 0xa5, 0xc8, 0xe4, 0xb0, 0x7d, 0x8a, 0x9c, 0x1d, 0x2e, 0x3f, 0x4a, 0x5b, 0x6c, 0x7d}
	const want = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"
	id := monitor.NewID(uuid)
	if id != want {
		t.Fatalf("got %s", id)
	}
	if got, err := monitor.ParseID(want); err != nil || got != id {
		t.Errorf("got %s, %v", got, err)
	}
	if id.WorkerName() != "stream-monitor-"+want || len(id.WorkerName()) > 63 {
		t.Errorf("worker name %s", id.WorkerName())
	}
	for _, s := range []string{"", "mon-", want[4:], want + "0", strings.ToUpper(want), "mon-0190a5c8e4b04d8a9c1d2e3f4a5b6c7d", want + "\n", "mon-../../etc/passwd"} {
		if _, err := monitor.ParseID(s); code(err) != monitor.NotFound {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestAnEndedMonitorKeepsItsStatus(t *testing.T) { // section 8.2
	const i, w, m, c, s, e = monitor.Initializing, monitor.Waiting, monitor.Monitoring, monitor.Completed, monitor.Stopped, monitor.Failed
	allowed := map[monitor.Status][]monitor.Status{
		i: {i, w, m, c, s, e}, w: {w, m, c, s, e}, m: {m, c, s, e}, c: {}, s: {}, e: {},
	}
	for from, tos := range allowed {
		for _, to := range monitor.Statuses() {
			want := false
			for _, a := range tos {
				want = want || a == to
			}
			if from.MayBecome(to) != want {
				t.Errorf("%s → %s: want %v", from, to, want)
			}
		}
		if from.Active() != (len(tos) > 0) {
			t.Errorf("%s is active: %v", from, from.Active())
		}
		if got, err := monitor.ParseStatus(string(from)); err != nil || got != from {
			t.Errorf("%s: %s, %v", from, got, err)
		}
	}
	if _, err := monitor.ParseStatus("running"); code(err) != monitor.InvalidConfig {
		t.Errorf("running: %v", err)
	}
	rapid.Check(t, func(r *rapid.T) {
		all := monitor.Statuses()
		now, ended := all[0], false
		for _, to := range rapid.SliceOf(rapid.SampledFrom(all)).Draw(r, "reports") {
			if now.MayBecome(to) {
				if ended {
					r.Fatalf("%s follows the end %s", to, now)
				}
				now = to
			}
			ended = ended || !now.Active()
		}
	})
}

func TestOnlyANewMonitorIsHeld(t *testing.T) {
	now := time.Date(2024, 1, 15, 10, 55, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		m    monitor.Monitor
		want time.Duration
	}{
		"new":      {monitor.Monitor{Status: monitor.Initializing, CreatedAt: now, ReservedUntil: now.Add(10 * time.Second)}, 10 * time.Second},
		"promoted": {monitor.Monitor{Status: monitor.Initializing, CreatedAt: now}, 0},
		"reserved": {monitor.Monitor{Status: monitor.Waiting, CreatedAt: now, ReservedUntil: now.Add(time.Hour)}, 0},
	} {
		if got := c.m.Held(); got != c.want {
			t.Errorf("%s: held for %v", name, got)
		}
	}
}

func TestStatesOfDetectorsThatCannotBeShownAreLeftOut(t *testing.T) { // section 8.6
	detectortest.Add(t, detectortest.Optional)
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	good := monitor.DetectorState{Detector: "made_up", State: "made_up", Since: at, Alerted: true, Values: map[string]float64{"level_db": -3}}
	changed := func(change func(*monitor.DetectorState)) monitor.DetectorState { s := good; change(&s); return s }
	for name, c := range map[string]struct {
		state monitor.DetectorState
		shown bool
	}{
		"a known one":         {good, true},
		"an unknown detector": {changed(func(s *monitor.DetectorState) { s.Detector = "other" }), false},
		"another word":        {changed(func(s *monitor.DetectorState) { s.State = monitor.Black }), false},
		"a time of no year":   {changed(func(s *monitor.DetectorState) { s.Since = at.AddDate(9000, 0, 0) }), false},
	} {
		if got := monitor.KnownStates([]monitor.DetectorState{c.state, c.state}); len(got) > 1 || (len(got) == 1) != c.shown {
			t.Errorf("%s: %v", name, got)
		}
	}
	strange := changed(func(s *monitor.DetectorState) { s.Values = map[string]float64{"\x00": 1} })
	if got := monitor.KnownStates([]monitor.DetectorState{strange}); len(got) != 1 || got[0].Values != nil {
		t.Errorf("a strange name of a value: %v", got)
	}
}

func TestStatesOfRenditionsThatThisReleaseCannotShowAreLeftOut(t *testing.T) { // section 3.3
	good := monitor.RenditionState{Height: 720, Bandwidth: 2_800_000, State: detector.RenditionGone, LookedAt: time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)}
	all := []monitor.RenditionState{good, {Height: 720, State: "paused"}, {Height: -1, State: detector.RenditionOK}, {Bandwidth: -1, State: detector.RenditionOK},
		{State: detector.RenditionOK, LookedAt: good.LookedAt.AddDate(9000, 0, 0)}}
	if got := monitor.KnownRenditions(all); !slices.Equal(got, []monitor.RenditionState{good}) {
		t.Errorf("shown are %+v", got)
	}
	if got := monitor.KnownRenditions(slices.Repeat(all, 1000)); len(got) != 32 {
		t.Errorf("%d are shown", len(got))
	}
}

func TestMeasuredValuesAloneAreNoChangeOfHealth(t *testing.T) { // section 3.3
	health := func(change func(*monitor.DetectorState)) monitor.Health {
		s := monitor.DetectorState{Detector: "made_up", State: monitor.OK, Values: map[string]float64{"level": 1}}
		change(&s)
		return monitor.Health{Video: monitor.OK, Audio: monitor.OK, Conditions: []monitor.DetectorState{s}}
	}
	before := health(func(*monitor.DetectorState) {})
	for name, c := range map[string]struct {
		after monitor.Health
		same  bool
	}{
		"another value":    {health(func(s *monitor.DetectorState) { s.Values = map[string]float64{"level": 2} }), true},
		"another state":    {health(func(s *monitor.DetectorState) { s.State = monitor.Unknown }), false},
		"another onset":    {health(func(s *monitor.DetectorState) { s.Since = time.Unix(1, 0) }), false},
		"an alert":         {health(func(s *monitor.DetectorState) { s.Alerted = true }), false},
		"another detector": {health(func(s *monitor.DetectorState) { s.Detector = "other" }), false},
		"no detector":      {monitor.Health{Video: monitor.OK, Audio: monitor.OK}, false},
	} {
		if got := before.Same(c.after); got != c.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
}

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
