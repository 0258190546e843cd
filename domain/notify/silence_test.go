package notify_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones on a machine without them

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestASilenceLastsFromItsBeginningToItsEnd(t *testing.T) {
	s := notify.Silence{StartsAt: at(0), EndsAt: at(60)}
	for sec, want := range map[float64]notify.SilenceState{-1: notify.SilenceScheduled, 0: notify.SilenceActive, 59: notify.SilenceActive, 60: notify.SilenceEnded} {
		if got := s.State(at(sec)); got != want {
			t.Errorf("after %v s: %s, want %s", sec, got, want)
		}
	}
	r := routing()
	r.Silences = []notify.Silence{s, {StartsAt: at(10), UntilRecovered: true, Match: notify.Match{Monitors: []monitor.ID{someMonitor}}}}
	for sec, want := range map[float64]time.Time{-1: {}, 5: at(60), 10: notify.Forever} {
		if got := r.SilencedUntil(blackIncident, at(sec)); !got.Equal(want) {
			t.Errorf("after %v s: silenced until %v, want %v", sec, got, want)
		}
	}
}

// window returns a window that is located.
func window(t *testing.T, zone, start, end string, days ...string) *notify.Window {
	t.Helper()
	w := &notify.Window{Weekdays: days, Start: start, End: end, Timezone: zone}
	if err := w.LoadZone(time.LoadLocation); err != nil {
		t.Fatal(err)
	}
	return w
}

// utc parses a time such as "03-29 01:00" of the year 2026, a Sunday.
func utc(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2026-"+s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// opened returns when a silence is active from a time on, to the minute, as "from – to".
func opened(s notify.Silence, from time.Time, hours int) (all []string) {
	const minutes = "01-02 15:04"
	began := time.Time{}
	for at := from; at.Before(from.Add(time.Duration(hours) * time.Hour)); at = at.Add(time.Minute) {
		switch active := s.Active(at); {
		case active && began.IsZero():
			began = at
		case !active && !began.IsZero():
			all = append(all, began.Format(minutes)+" – "+at.Format(minutes))
			began = time.Time{}
		}
	}
	return all
}

func TestAWindowRecursByTheClockOfItsZone(t *testing.T) {
	for _, c := range []struct {
		name   string
		window *notify.Window
		from   string
		hours  int
		want   []string
	}{
		{"every day, in Tokyo", window(t, "Asia/Tokyo", "02:00", "04:00"), "03-01 00:00", 48, []string{"03-01 17:00 – 03-01 19:00", "03-02 17:00 – 03-02 19:00"}},
		{"on Sundays by the day there", window(t, "Asia/Tokyo", "02:00", "04:00", "sun"), "03-06 00:00", 72, []string{"03-07 17:00 – 03-07 19:00"}},
		{"past midnight", window(t, "UTC", "23:00", "01:30", "sun"), "03-01 00:00", 60, []string{"03-01 23:00 – 03-02 01:30"}},
		{"a whole day", window(t, "UTC", "12:00", "12:00", "sun"), "03-01 00:00", 60, []string{"03-01 12:00 – 03-02 12:00"}},

		{"before the clocks go forward", window(t, "Europe/Berlin", "01:00", "04:00"), "03-28 12:00", 24, []string{"03-29 00:00 – 03-29 02:00"}},
		{"begins in the hour that is skipped", window(t, "Europe/Berlin", "02:30", "04:00"), "03-28 12:00", 24, []string{"03-29 01:00 – 03-29 02:00"}},
		{"ends in the hour that is skipped", window(t, "Europe/Berlin", "01:30", "02:30"), "03-28 12:00", 24, []string{"03-29 00:30 – 03-29 01:00"}},
		{"ends in it, west of Greenwich", window(t, "America/New_York", "01:30", "02:30"), "03-08 00:00", 24, []string{"03-08 06:30 – 03-08 07:00"}},
		{"lies in it", window(t, "Europe/Berlin", "02:10", "02:50"), "03-28 12:00", 24, nil},
		{"around the hour that comes twice", window(t, "Europe/Berlin", "02:30", "03:30"), "10-24 12:00", 24, []string{"10-25 00:30 – 10-25 02:30"}},
		{"within the hour that comes twice", window(t, "Europe/Berlin", "02:10", "02:50"), "10-24 12:00", 24, []string{"10-25 00:10 – 10-25 00:50"}},
		{"within it, west of Greenwich", window(t, "America/New_York", "01:10", "01:50"), "11-01 00:00", 24, []string{"11-01 05:10 – 11-01 05:50"}},
		{"half an hour twice, on Lord Howe Island", window(t, "Australia/Lord_Howe", "01:40", "02:10"), "04-04 00:00", 24, []string{"04-04 14:40 – 04-04 15:40"}},
		{"where midnight is skipped", window(t, "Africa/Cairo", "00:30", "02:00"), "04-23 12:00", 24, []string{"04-23 22:00 – 04-23 23:00"}},
	} {
		if got := opened(notify.Silence{Window: c.window}, utc(t, c.from), c.hours); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAWindowIsWithinItsSilence(t *testing.T) {
	s := notify.Silence{StartsAt: utc(t, "03-01 10:00"), EndsAt: utc(t, "03-03 00:30"), Window: window(t, "UTC", "23:00", "01:00")}
	if got := opened(s, utc(t, "02-27 00:00"), 200); !slices.Equal(got, []string{"03-01 23:00 – 03-02 01:00", "03-02 23:00 – 03-03 00:30"}) {
		t.Errorf("active %q", got)
	}
	for _, c := range []struct {
		at, next string // "": never
		state    notify.SilenceState
	}{
		{"02-27 00:00", "03-01 23:00", notify.SilenceScheduled},
		{"03-01 23:30", "", notify.SilenceActive},
		{"03-02 01:00", "03-02 23:00", notify.SilenceScheduled},
		{"03-03 00:30", "", notify.SilenceEnded},
		{"03-03 02:00", "", notify.SilenceEnded},
	} {
		var next string
		if at := s.NextAt(utc(t, c.at)); !at.IsZero() {
			next = at.Format("01-02 15:04")
		}
		if next != c.next || s.State(utc(t, c.at)) != c.state {
			t.Errorf("at %s: %s, next at %q; want %s and %q", c.at, s.State(utc(t, c.at)), next, c.state, c.next)
		}
	}
	if got := s.ActiveUntil(utc(t, "03-02 23:30")); !got.Equal(s.EndsAt) {
		t.Errorf("the last window ends at %v", got)
	}
	skipped := notify.Silence{Window: window(t, "Europe/Berlin", "02:10", "02:50")}
	if got := skipped.NextAt(utc(t, "03-28 12:00")); !got.Equal(utc(t, "03-30 00:10")) {
		t.Errorf("after a day without its hour a window is open at %v", got)
	}
	weekly := notify.Silence{Window: window(t, "Europe/Berlin", "02:10", "02:50", "sun")}
	if got := weekly.NextAt(utc(t, "03-22 12:00")); !got.Equal(utc(t, "04-05 00:10")) {
		t.Errorf("after a week without its hour a weekly window is open at %v", got)
	}
	weekly = notify.Silence{StartsAt: at(0), Window: window(t, "UTC", "20:00", "21:00", "sun")}
	if got := weekly.NextAt(at(3600)); !got.Equal(at(7 * 24 * 3600)) { // eight is on a Sunday
		t.Errorf("a weekly window is open again at %v", got)
	}
	if got := weekly.ActiveUntil(at(10)); !got.Equal(at(3600)) {
		t.Errorf("it is open until %v", got)
	}
}

func TestAnOccurrenceEndsAndTheOthersStay(t *testing.T) {
	s := notify.Silence{StartsAt: utc(t, "03-28 00:00"), Window: window(t, "Europe/Berlin", "22:00", "06:00")}
	night := utc(t, "03-28 23:00") // in which the clocks go forward
	s.SkipUntil = s.ActiveUntil(night)
	if want := utc(t, "03-29 04:00"); !s.SkipUntil.Equal(want) || s.State(night) != notify.SilenceScheduled || !s.NextAt(night).Equal(utc(t, "03-29 20:00")) {
		t.Errorf("skipped until %v, it is %s, next at %v", s.SkipUntil, s.State(night), s.NextAt(night))
	}
	if got := opened(s, utc(t, "03-28 00:00"), 72); !slices.Equal(got, []string{"03-29 20:00 – 03-30 04:00"}) {
		t.Errorf("active %q", got)
	}
	s.SkipUntil = utc(t, "03-29 01:30") // in the middle of one
	if got := opened(s, utc(t, "03-28 00:00"), 36); !slices.Equal(got, []string{"03-29 01:30 – 03-29 04:00"}) {
		t.Errorf("active %q", got)
	}
}

func TestASilenceUpToASeverityLetsWhatGetsWorseThrough(t *testing.T) {
	upTo := func(severity int) *int { return &severity }
	for name, c := range map[string]struct {
		match      notify.Match
		silenced   map[int]bool // by severity
		everything bool
	}{
		"everything":        {notify.Match{}, map[int]bool{0: true, 3: true}, true},
		"up to the highest": {notify.Match{MaxSeverity: upTo(3)}, map[int]bool{0: true, 3: true}, true},
		"up to 1":           {notify.Match{MaxSeverity: upTo(1)}, map[int]bool{0: true, 1: true, 2: false}, false},
		"up to 0":           {notify.Match{MaxSeverity: upTo(0)}, map[int]bool{0: true, 1: false}, false},
		"of a condition":    {notify.Match{Conditions: []incident.Name{black}}, map[int]bool{1: true}, false},
	} {
		silence := notify.Silence{Match: c.match, StartsAt: at(0), EndsAt: at(60), CreatedBy: "ann"}
		r := routing()
		r.Silences = []notify.Silence{silence}
		for severity, want := range c.silenced {
			about := blackIncident
			about.Severity = severity
			if got := !r.SilencedUntil(about, at(0)).IsZero(); got != want {
				t.Errorf("%s: an incident of severity %d is silenced: %v", name, severity, got)
			}
		}
		if silence.OfEverything() != c.everything || len(silence.Check(at(0))) > 0 {
			t.Errorf("%s: of everything: %v, wrong: %v", name, silence.OfEverything(), silence.Check(at(0)))
		}
	}
	expectWrong(t, notify.Match{MinSeverity: 2, MaxSeverity: upTo(1)}.Check(), "match.max_severity")
	expectWrong(t, notify.Match{MaxSeverity: upTo(4)}.Check(), "match.max_severity")
	expectWrong(t, notify.Match{MaxSeverity: upTo(-1)}.Check(), "match.max_severity")

	w := newWorld(t, edits()).silence(notify.Silence{Match: notify.Match{MaxSeverity: upTo(1)}, StartsAt: at(0), Window: window(t, "UTC", "20:00", "21:00")})
	w.at(0, began(black, 0)).at(1000)
	w.expect(map[string]string{"edits": "120 opened!, 600 worse!"})
}

func TestAWindowInAnUnknownZoneIsNeverOpen(t *testing.T) {
	for _, zone := range []string{"", "Local", "Moon/Crater", "../etc/passwd"} {
		w := &notify.Window{Start: "00:00", End: "00:00", Timezone: zone}
		if err := w.LoadZone(time.LoadLocation); err == nil {
			t.Errorf("the zone %q is known", zone)
		}
		if s := (notify.Silence{Window: w}); s.Active(eight) || s.State(eight) != notify.SilenceEnded {
			t.Errorf("in the zone %q it is %s", zone, s.State(eight))
		}
	}
}

func TestASilenceThatCannotBeIsRefused(t *testing.T) {
	valid := notify.Silence{StartsAt: at(0), EndsAt: at(60), CreatedBy: "ann"}
	for _, c := range []struct {
		name   string
		change func(*notify.Silence)
		fields []string
	}{
		{"valid", func(*notify.Silence) {}, nil},
		{"nobody, for ever", func(s *notify.Silence) { s.CreatedBy, s.EndsAt = "", time.Time{} }, []string{"by", "to"}},
		{"from never", func(s *notify.Silence) { s.StartsAt = time.Time{} }, []string{"from"}},
		{"ends before it begins", func(s *notify.Silence) { s.EndsAt = at(0) }, []string{"to"}},
		{"over already", func(s *notify.Silence) { s.StartsAt, s.EndsAt = at(-60), at(-1) }, []string{"to"}},
		{"a long comment", func(s *notify.Silence) { s.Comment = strings.Repeat("あ", 501) }, []string{"comment"}},
		{"until any recovery", func(s *notify.Silence) { s.UntilRecovered = true }, []string{"match.monitors"}},
		{"until the recovery of one", func(s *notify.Silence) {
			s.UntilRecovered, s.EndsAt, s.Match.Monitors = true, time.Time{}, []monitor.ID{someMonitor}
		}, nil},
		{"a window", func(s *notify.Silence) {
			s.EndsAt, s.Window = time.Time{}, window(t, "Asia/Tokyo", "02:00", "01:00", "sun")
		}, nil},
		{"a wrong window", func(s *notify.Silence) {
			s.Window = &notify.Window{Weekdays: []string{"monday"}, Start: "2:00", End: "24:00", Timezone: "Mars"}
		}, []string{"window.weekdays", "window.start", "window.end", "window.timezone"}},
		{"a wrong match", func(s *notify.Silence) { s.Match.MinSeverity = 4 }, []string{"match.min_severity"}},
		{"an occurrence of nothing", func(s *notify.Silence) { s.SkipUntil = at(30) }, []string{"skip_until"}},
		{"hints", func(s *notify.Silence) { s.Match.Hints = []monitor.HintKind{monitor.Quieter} }, []string{"match.hints"}},
	} {
		s := valid
		c.change(&s)
		problems := s.Check(at(0))
		if expectWrong(t, problems, c.fields...); t.Failed() {
			t.Fatalf("%s: %v", c.name, problems)
		}
	}
}
