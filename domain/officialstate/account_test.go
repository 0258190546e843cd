package officialstate_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones on a machine without them

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

const key = "fingerprint"

var quotaExceeded = &officialstate.Failure{Kind: officialstate.QuotaExceeded}

func pacific(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(officialstate.Zone)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// streams returns streams that wait, of which each starts later than the one before.
func streams(n int) (all []officialstate.Stream) {
	for i := range n {
		all = append(all, officialstate.Stream{MonitorID: monitor.ID(fmt.Sprint(i)), SourceID: fmt.Sprintf("video%06d", i), ScheduledStart: moment.Add(time.Duration(i) * time.Minute)})
	}
	return all
}

func TestUploadsHaveAShareOfTheDay(t *testing.T) {
	zone := pacific(t)
	midnight := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	noon := midnight.Add(12 * time.Hour)
	const lists = officialstate.MaxUploads * 13 / 24 / officialstate.UploadsUnits // an hour ahead of noon
	refused := func(kind officialstate.FailureKind) officialstate.Account {
		return officialstate.Account{Key: key, Day: midnight, NextAt: noon.Add(time.Minute), Failure: officialstate.Failure{Kind: kind}, Failures: 1}
	}
	for name, c := range map[string]struct {
		before officialstate.Account
		lists  int
	}{
		"a first day":                        {officialstate.Account{}, lists},
		"a day with many rounds":             {officialstate.Account{Key: key, Day: midnight, Used: officialstate.UnitsPerDay - 11}, 5},
		"a morning that used its share":      {officialstate.Account{Key: key, Day: midnight, Used: 1000, Uploads: 1000}, (officialstate.MaxUploads*13/24 - 1000) / 2},
		"a day whose share is used":          {officialstate.Account{Key: key, Day: midnight, Used: 5000, Uploads: officialstate.MaxUploads}, 0},
		"the day after that":                 {officialstate.Account{Key: key, Day: midnight.AddDate(0, 0, -1), Used: 5000, Uploads: officialstate.MaxUploads}, lists},
		"another key":                        {officialstate.Account{Key: "another", Day: midnight, Uploads: officialstate.MaxUploads, Failure: *quotaExceeded, NextAt: noon.Add(time.Hour)}, lists},
		"a key without units until midnight": {refused(officialstate.QuotaExceeded), 0},
		"a key that is refused":              {refused(officialstate.KeyRefused), 0},
		"a server that fails":                {refused(officialstate.Unreachable), lists},
	} {
		t.Run(name, func(t *testing.T) {
			a, made := c.before, 0
			for a.SpendOnUploads(noon, key, zone, officialstate.UploadsUnits) {
				made++
			}
			equal(t, "lists", made, c.lists)
			equal(t, "units", a.Uploads <= officialstate.MaxUploads && a.Used <= officialstate.UnitsPerDay, true)
		})
	}
	evening := officialstate.Account{Key: key, Day: midnight, Uploads: officialstate.MaxUploads - 3}
	last := midnight.Add(23*time.Hour + 30*time.Minute)
	equal(t, "the last units of a day", []bool{
		evening.SpendOnUploads(last, key, zone, 3), evening.SpendOnUploads(last, key, zone, 1),
	}, []bool{true, false})
}

func TestRoundsAreAsFarApartAsTheDayAllows(t *testing.T) {
	zone := pacific(t)
	midnight := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	for name, c := range map[string]struct {
		streams, used int
		at            time.Duration // after midnight
		asked         int
		interval      time.Duration
	}{
		"few streams":                              {10, 0, 0, 10, 30 * time.Second},
		"a call holds 50":                          {50, 0, 0, 50, 30 * time.Second},
		"three calls":                              {150, 0, 0, 150, 30 * time.Second},
		"four calls are more than 30 s allow":      {200, 0, 0, 200, 34560 * time.Millisecond},
		"as many as can be kept young":             {300, 0, 0, 300, 51840 * time.Millisecond},
		"of more, those that start first":          {1000, 0, 0, 350, 60480 * time.Millisecond},
		"what is left is shared by what is left":   {50, 9000, 12 * time.Hour, 50, 43200 * time.Millisecond},
		"the last units of a day":                  {1000, 9990, 12 * time.Hour, 50, 72 * time.Minute},
		"the last hour has plenty":                 {1000, 5000, 23 * time.Hour, 1000, 30 * time.Second},
		"the day before does not count any more":   {50, 10_000, 24 * time.Hour, 50, 30 * time.Second},
		"nothing is left: until the next midnight": {50, 10_000, 12 * time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := midnight.Add(c.at)
			a := officialstate.Account{Key: key, Day: midnight, Used: c.used}
			asked := a.Begin(now, key, streams(c.streams), zone)
			equal(t, "asked about", len(asked), c.asked)
			if c.asked == 0 {
				equal(t, "the next round", a.NextAt.Equal(midnight.AddDate(0, 0, 1)), true)
				return
			}
			equal(t, "the interval", a.NextAt.Sub(a.AskedAt).Round(10*time.Millisecond), c.interval)
			equal(t, "the first", asked[0].MonitorID, monitor.ID("0"))
		})
	}
	t.Run("streams that are watched come last", func(t *testing.T) {
		a, all := officialstate.Account{Key: key, Day: midnight, Used: 9990}, streams(60)
		for i := range 55 {
			all[i].Live = true
		}
		asked := a.Begin(midnight.Add(12*time.Hour), key, all, zone)
		equal(t, "the first and the sixth", []monitor.ID{asked[0].MonitorID, asked[5].MonitorID}, []monitor.ID{"55", "0"})
	})
}

func TestLooksWithLoginsTakeHalfOfWhatIsLeft(t *testing.T) { // S24
	zone := pacific(t)
	midnight := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	for name, c := range map[string]struct {
		used, logins int
		at           time.Duration // after midnight
		interval     time.Duration
	}{
		"one login":                  {0, 1, 0, 34560 * time.Millisecond},
		"ten logins":                 {0, 10, 0, 345600 * time.Millisecond},
		"the evening has plenty":     {0, 1, 23 * time.Hour, 30 * time.Second},
		"what is left":               {9000, 1, 12 * time.Hour, 172800 * time.Millisecond},
		"the day before is over":     {10_000, 1, 24 * time.Hour, 34560 * time.Millisecond},
		"one unit is no look":        {9_999, 1, 12 * time.Hour, 0},
		"nothing is left of the day": {10_000, 1, 12 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := midnight.Add(c.at)
			a := officialstate.Account{Key: key, Day: midnight, Used: c.used}
			next, ok := a.Spend(now, key, 2, c.logins, zone)
			equal(t, "there are units", ok, c.interval > 0)
			if ok {
				equal(t, "the interval", next.Sub(now), c.interval)
				return
			}
			equal(t, "the next day", next.Equal(midnight.AddDate(0, 0, 1)), true)
			equal(t, "the units", a.Used, c.used)
		})
	}
	t.Run("a day of looks and rounds keeps within the units", func(t *testing.T) {
		a, looks, rounds := officialstate.Account{}, 0, 0
		var lookAt time.Time
		for now := midnight; now.Before(midnight.Add(24 * time.Hour)); now = now.Add(officialstate.Tick) {
			if !now.Before(lookAt) {
				next, ok := a.Spend(now, key, 2, 1, zone)
				if lookAt = next; ok {
					looks++
				}
			}
			if len(a.Begin(now, key, streams(100), zone)) == 100 {
				rounds++
			}
		}
		if a.Used > officialstate.UnitsPerDay || looks < 1200 || rounds < 1200 {
			t.Errorf("%d looks, %d rounds, %d units", looks, rounds, a.Used)
		}
	})
	t.Run("the API has no units any more", func(t *testing.T) {
		a := officialstate.Account{Key: key, Day: midnight, Used: 100}
		equal(t, "just after midnight", a.Exhaust(midnight.Add(time.Minute), zone).Equal(midnight.Add(11*time.Minute)), true)
		equal(t, "later", a.Exhaust(midnight.Add(2*time.Hour), zone).Equal(midnight.AddDate(0, 0, 1)), true)
		equal(t, "rounds wait, too", len(a.Begin(midnight.Add(3*time.Hour), key, streams(1), zone)), 0)
	})
}

func TestAnotherKeyHasUnitsOfItsOwn(t *testing.T) {
	zone := pacific(t)
	a := officialstate.Account{}
	a.Begin(moment, key, streams(1), zone)
	a.End(moment, quotaExceeded, zone)
	equal(t, "with the same key a round is due", a.Due(moment.Add(time.Hour), key), false)
	equal(t, "with another key", a.Due(moment.Add(time.Hour), "another"), true)
	equal(t, "asked about", len(a.Begin(moment.Add(time.Hour), "another", streams(1), zone)), 1)
	equal(t, "units", a.Used, 1)
	equal(t, "the failure", a.Failures, 0)
}

func TestTheStatusShowsTheDayAndTheFailure(t *testing.T) {
	zone := pacific(t)
	midnight := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	var a officialstate.Account
	equal(t, "before the first round", a.Status(midnight, zone), officialstate.Status{UnitsPerDay: 10_000, ResetsAt: midnight.AddDate(0, 0, 1)})
	noon, next := midnight.Add(12*time.Hour), midnight.AddDate(0, 0, 1)
	a.Begin(noon, key, streams(120), zone)
	a.End(noon, quotaExceeded, zone)
	equal(t, "when the units are used up", a.Status(noon, zone), officialstate.Status{
		UnitsUsed: 3, UnitsPerDay: 10_000, ResetsAt: next, Rounds: officialstate.Rounds{Streams: 120, AskedAt: &noon, NextAt: &next, Failure: quotaExceeded},
	})
	equal(t, "units of the next day", a.Status(next, zone).UnitsUsed, 0)
}

func TestAnAPIWithoutUnitsIsAskedAboutAllThatWait(t *testing.T) {
	var a officialstate.Account
	all := streams(500)
	all[3].Live = true
	asked := a.BeginAll(moment, key, all)
	equal(t, "streams", len(asked), 499)
	equal(t, "a stream that is watched is among them", slices.Contains(asked, all[3]), false)
	equal(t, "streams, before the next round", len(a.BeginAll(moment.Add(29*time.Second), key, all)), 0)
	equal(t, "streams, 30 s later", len(a.BeginAll(moment.Add(30*time.Second), key, all)), 499)
	later := moment.Add(31 * time.Second)
	a.End(later, &officialstate.Failure{Kind: officialstate.KeyRefused}, nil)
	a.End(later, &officialstate.Failure{Kind: officialstate.KeyRefused}, nil)
	equal(t, "the pause after two failures", a.NextAt, later.Add(time.Minute))
	equal(t, "streams, with other credentials", len(a.BeginAll(later, "other", all)), 499)
	equal(t, "what is shown", a.Rounds(), officialstate.Rounds{Streams: 499, AskedAt: &later, NextAt: new(later.Add(30 * time.Second))})
	equal(t, "a round about none", len(a.BeginAll(later.Add(time.Hour), "other", all[3:4])), 0)
}

func TestTheAccountGoesOnAfterAClockThatWasAhead(t *testing.T) {
	var a officialstate.Account
	a.Begin(moment.AddDate(1, 0, 0), key, streams(1), pacific(t))
	equal(t, "a round is due", a.Due(moment, key), true)
}

// TestExhaustedUnitsAreBackAtMidnight lets the API refuse from noon to midnight, by the clock in California.
func TestExhaustedUnitsAreBackAtMidnight(t *testing.T) {
	zone := pacific(t)
	for name, c := range map[string]struct {
		year  int
		month time.Month
		day   int
		hours float64 // of the day
		late  time.Duration
	}{
		"an ordinary day":              {2026, 6, 1, 24, 0},
		"the day before summer time":   {2026, 3, 7, 24, 0},
		"summer time begins":           {2026, 3, 8, 23, 0},
		"summer time ends":             {2026, 11, 1, 25, 0},
		"the API's midnight is late":   {2026, 6, 1, 24, 12 * time.Minute},
		"the last day of the year":     {2026, 12, 31, 24, 0},
		"the day that a leap year has": {2028, 2, 29, 24, 0},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Date(c.year, c.month, c.day, 0, 0, 0, 0, zone)
			noon, end := time.Date(c.year, c.month, c.day, 12, 0, 0, 0, zone), time.Date(c.year, c.month, c.day+1, 0, 0, 0, 0, zone)
			equal(t, "hours of the day", end.Sub(begin).Hours(), c.hours)
			var a officialstate.Account
			answered := map[string]int{}
			refused := 0
			for now := begin; now.Before(end.Add(2 * time.Hour)); now = now.Add(officialstate.Tick) {
				if !a.Due(now, key) {
					continue
				}
				a.Begin(now, key, streams(50), zone)
				if !now.Before(noon) && now.Before(end.Add(c.late)) {
					a.End(now.Add(time.Second), quotaExceeded, zone)
					refused++
					continue
				}
				a.End(now.Add(time.Second), nil, zone)
				switch {
				case now.Before(noon):
					answered["before noon"]++
				case now.Before(end):
					answered["after noon"]++
				case now.Before(end.Add(c.late + 10*time.Minute + officialstate.Tick)):
					answered["soon after midnight"]++
				}
				if s := a.Status(now, zone); now.Before(end) != s.ResetsAt.Equal(end) || s.UnitsUsed > s.UnitsPerDay {
					t.Fatalf("at %v: %+v", now, s)
				}
			}
			equal(t, "rounds before noon", answered["before noon"], int(noon.Sub(begin)/(30*time.Second)))
			if answered["after noon"] != 0 || answered["soon after midnight"] == 0 || c.late == 0 && refused != 1 || refused > 7 {
				t.Errorf("answered %v, refused %d times", answered, refused)
			}
		})
	}
}

func TestAFailureIsTriedAgainWithBackoff(t *testing.T) {
	zone := pacific(t)
	var a officialstate.Account
	var delays []time.Duration
	now := moment
	for range 7 {
		a.Begin(now, key, streams(1), zone)
		a.End(now, &officialstate.Failure{Kind: officialstate.KeyRefused}, zone)
		delays = append(delays, a.NextAt.Sub(now))
		now = a.NextAt
	}
	equal(t, "the delays", delays, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute})
	a.Begin(now, key, streams(1), zone)
	a.End(now, nil, zone)
	equal(t, "after an answer", []any{a.NextAt.Sub(now), a.Failures, a.Failure}, []any{30 * time.Second, 0, officialstate.Failure{}})
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
