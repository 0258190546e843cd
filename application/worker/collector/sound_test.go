package collector_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/levelplot"
)

// checked returns levels that checks have measured, one a second from one time to another.
func checked(from, to int, dbfs float64) (all []capture.Level) {
	for s := from; s < to; s++ {
		all = append(all, capture.Level{At: at(float64(s) + 0.25), DBFS: dbfs})
	}
	return all
}

// The media of a capture begin 30 s before its instant. The checks have measured more.
func TestTheLevelsOfTheLastMinuteComeFromTheChecks(t *testing.T) {
	gone := func(s watch.Segment) bool { return s.ProgramTime.Before(at(96)) && s.ProgramTime.After(at(92)) }
	for name, c := range map[string]struct {
		missing func(watch.Segment) bool
		room    int
		checked []capture.Level
		want    string // runs of equal levels
	}{
		"before and after the media":             {nil, 0, checked(30, 140, -30), "40-89 -30, 90-99 -20, 100-109 -120, 110-129 -30"},
		"none were measured":                     {nil, 0, nil, "90-99 -20, 100-109 -120"},
		"in a gap of the media":                  {gone, 0, checked(60, 140, -30), "60-89 -30, 90-93 -20, 94-95 -30, 96-99 -20, 100-109 -120, 110-129 -30"},
		"without any media, for lack of a place": {nil, -1, checked(60, 105, -30), "60-104 -30"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{missing: c.missing, room: c.room}
			j := job(capture.Complete, "alert", 110)
			j.Levels, j.LevelsFrom, j.LevelsTo = c.checked, at(40), at(130)
			w.collect(t, j)
			if got := w.levelRuns(t); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// levelRuns describes the uploaded levels as "from-to level" for each run of equal ones.
func (w *world) levelRuns(t *testing.T) string {
	t.Helper()
	var body struct {
		From, To  time.Time
		Threshold float64 `json:"threshold_dbfs"`
		Levels    []struct {
			At   time.Time
			DBFS float64
		}
	}
	if err := json.Unmarshal(w.bodies["levels"], &body); err != nil || body.Threshold != -50 {
		t.Fatalf("the threshold is %v, %v", body.Threshold, err)
	}
	var runs []string
	for i := 0; i < len(body.Levels); {
		n := i
		for n < len(body.Levels) && body.Levels[n].DBFS == body.Levels[i].DBFS {
			n++
		}
		second := func(i int) int { return int(body.Levels[i].At.Sub(zero).Seconds()) }
		if second(n-1)-second(i) != n-1-i {
			t.Errorf("the levels from %d to %d are %d", second(i), second(n-1), n-i)
		}
		runs = append(runs, fmt.Sprintf("%d-%d %g", second(i), second(n-1), body.Levels[i].DBFS))
		i = n
	}
	if last := len(body.Levels) - 1; !body.From.Equal(body.Levels[0].At) || !body.To.Equal(body.Levels[last].At.Add(time.Second)) {
		t.Errorf("the levels are from %s to %s", body.From, body.To)
	}
	return strings.Join(runs, ", ")
}

// A bar stands where a level is known, at any length of the axis.
func TestThePlotShowsUnknownTimeAsEmpty(t *testing.T) {
	for _, minutes := range []int{1, 10, 60} {
		w := &world{room: -1}
		j := job(capture.Complete, "alert", 110)
		end := 40 + 60*minutes
		j.Levels = slices.Concat(checked(40, 40+end/4, -20), checked(end-end/4, end, -80))
		j.LevelsFrom, j.LevelsTo = at(40), at(float64(end+1))
		w.collect(t, j)
		columns, err := levelplot.Read(w.bodies["level"], at(40.25), at(float64(end)+0.25))
		if err != nil {
			t.Fatal(err)
		}
		margin := time.Second + time.Duration(minutes)*time.Minute/600 // a second, and a column
		known, all := 0, 0
		for _, c := range columns {
			first, last := c.At.Before(at(float64(40+end/4)).Add(-margin)), c.At.After(at(float64(end-end/4)).Add(margin))
			between := c.At.After(at(float64(40+end/4)).Add(margin)) && c.At.Before(at(float64(end-end/4)).Add(-margin))
			if first || last {
				if all++; c.Known {
					known++
				}
			}
			if c.Known && (first && (c.DBFS < -21 || c.Red) || last && (c.DBFS > -79 || !c.Red) || between) {
				t.Errorf("%d min: %s is %+v", minutes, c.At.Sub(at(40)), c)
			}
		}
		if known < all*8/10 { // bars of seconds have a space between them
			t.Errorf("%d min: %d of %d columns have a bar", minutes, known, all)
		}
	}
}
