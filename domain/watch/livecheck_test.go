package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expectAsked compares the times of all questions after the first one, which is asked at
// second 100.
func (w *world) expectAsked(want ...float64) {
	w.t.Helper()
	w.expectBegun(watch.TaskResolve, span{101, never}, want...)
}

func TestAMovingPlaylistAnswersTheRegularQuestionForAnHour(t *testing.T) { // S17
	copies := func(w *world) { w.copyDelays = []int{0, 6, 4} }
	for name, set := range map[string][]option{
		"tasks take no time":           nil,
		"tasks take their time":        {withTaskTimes},
		"tasks are slow":               {takes(watch.TaskResolve, 40), takes(watch.TaskPlaylist, 5), takes(watch.TaskSegment, 6)},
		"segments of 10 s":             {segmentsOf(10)},
		"copies of unequal age":        {copies},
		"picture and sound apart":      {apart},
		"the sound stands":             {apart, stallsIn("/sound/", 2000, 2050)},
		"the picture stands":           {apart, stallsIn("/picture/", 2000, 2050)},
		"without program time":         {noProgramTime},
		"it stands for a moment":       {stalls(1000, 1015, 2003, 2018)},
		"a reading fails":              {noPlaylist(1000, 1001, 2000, 2001)},
		"a segment fails":              {noSegment(1000, 1005)},
		"URLs that live for a minute":  {expiringAfter(time.Minute)},
		"URLs that live for 20 min":    {expiringAfter(20 * time.Minute)},
		"URLs that expired long ago":   {expiringAfter(-100 * 365 * 24 * time.Hour)},
		"URLs that live for centuries": {expiringAfter(100 * 365 * 24 * time.Hour)},
	} {
		for _, interval := range []int{10, 30, 300} {
			t.Run(fmt.Sprintf("checks every %d s, %s", interval, name), func(t *testing.T) {
				scenario(t, append(set, checksEvery(interval))...).from(100).until(7400).expectAsked(3700, 7300)
			})
		}
	}
	for _, interval := range []int{1, 2, 29, 31, 60} { // one case is enough for the other intervals
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			scenario(t, withTaskTimes, checksEvery(interval)).from(100).until(7400).expectAsked(3700, 7300)
		})
	}
}

func TestAPlaylistThatStandsStillIsAskedAbout(t *testing.T) { // S17
	for name, c := range map[string]struct {
		set   []option
		asked []float64
	}{
		"it stands for nearly 30 s":      {[]option{stalls(1000, 1029.9)}, []float64{3700}},
		"it stands for 30 s":             {[]option{stalls(1000, 1030.1)}, []float64{1030, 4630}},
		"it stands for more than 30 s":   {[]option{stalls(1000, 1045)}, []float64{1030, 4630}},
		"it stands, checks every 300 s":  {[]option{checksEvery(300), stalls(1000, 1030.1)}, []float64{1030, 4630}},
		"it cannot be read for 45 s":     {[]option{noPlaylist(1000, 1035.1)}, []float64{1035, 4635}}, // new media until 990
		"it cannot be read for less":     {[]option{noPlaylist(1000, 1034.9)}, []float64{1035, 4635}},
		"it cannot be read for 15 s":     {[]option{noPlaylist(1000, 1014.9)}, []float64{3700}},
		"both of two playlists stand":    {[]option{apart, stalls(1000, 1030.1)}, []float64{1030, 4630}},
		"it stands again within 5 min":   {[]option{stalls(1000, 1031, 1280, 1319.9)}, []float64{1030, 4630}},
		"it stands again after 5 min":    {[]option{stalls(1000, 1031, 1290, 1331)}, []float64{1030, 1330, 4930}},
		"it stands in the first 5 min":   {[]option{stalls(250, 309)}, []float64{3700}},
		"it stands until they are over":  {[]option{stalls(350, 401)}, []float64{400, 4000}},
		"it stands until the alert":      {[]option{stalls(1000, 1999)}, []float64{1030, 1060, 1360, 1660, 1960}},
		"segments fail until the alert":  {[]option{noSegment(1000, 1999)}, []float64{1060, 1360, 1660, 1960}},
		"and the hour begins after that": {[]option{noSegment(1000, 1390)}, []float64{1060, 1360, 4960}},
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, c.set...).from(100).until(5000).expectAsked(c.asked...)
		})
	}
}

func TestTheManifestIsRenewedBeforeItsURLsExpire(t *testing.T) { // S7, S17
	for _, c := range []struct {
		lives   float64   // minutes from the question to the expiry; zero: unknown
		asked   []float64 // minutes after the first question
		renewed int       // manifests read after the first one
	}{
		{0, []float64{60, 120, 180, 240, 300}, 1},
		{360, []float64{60, 120, 180, 240, 300}, 1},
		{314, []float64{60, 120, 180, 240, 299}, 1},
		{120, []float64{60, 105, 165, 210, 270}, 2},
		{75, []float64{60, 120, 180, 240, 300}, 5},
		{74, []float64{59, 118, 177, 236, 295}, 5},
		{76, []float64{60, 65, 125, 130, 190, 195, 255, 260}, 4},
	} {
		t.Run(fmt.Sprintf("URLs that live for %v min", c.lives), func(t *testing.T) {
			w := scenario(t, checksEvery(30))
			if c.lives > 0 {
				expiringAfter(time.Duration(c.lives) * time.Minute)(w)
			}
			w.from(100).until(100 + 5*3600 + 30)
			for i := range c.asked {
				c.asked[i] = 100 + 60*c.asked[i]
			}
			w.expectAsked(c.asked...)
			if len(w.urls)-1 != c.renewed {
				t.Errorf("renewed %d times, want %d", len(w.urls)-1, c.renewed)
			}
		})
	}
}

func TestTheHourOfTheRegularQuestionGoesOnAcrossRestarts(t *testing.T) { // S11, S17
	for name, c := range map[string]struct {
		set   []option
		asked []float64
	}{
		"its playlist moves":                 {[]option{restarts(2000, 2003)}, []float64{3700}},
		"for 10 minutes":                     {[]option{restarts(2000, 2600)}, []float64{3700}},
		"until the hour has passed":          {[]option{restarts(2000, 4000)}, []float64{4000}},
		"every 20 minutes":                   {[]option{restarts(1200, 1201, 2400, 2401, 3600, 3601)}, []float64{3700}},
		"its playlist is read late":          {[]option{takes(watch.TaskPlaylist, 14), restarts(2000, 2003)}, []float64{3700}},
		"the source says how long URLs live": {[]option{lastingFor(45 * time.Minute), restarts(1000, 1003)}, []float64{1900, 3700}},
		"the manifest must be renewed":       {[]option{expiringAfter(45 * time.Minute), restarts(1000, 1003)}, []float64{1900, 3700}},
		"in the first 5 minutes":             {[]option{restarts(200, 203)}, []float64{3700}},
		// The time after the last step, at 2000, proves nothing.
		"its playlist stands":         {[]option{stalls(2000, 2040), restarts(2005, 2008)}, []float64{2038}},
		"its playlist cannot be read": {[]option{noPlaylist(2001, 2050), restarts(2005, 2008)}, []float64{2053}},
		"in an alerted outage":        {[]option{stalls(1000, 2100), restarts(2000, 2003)}, []float64{1030, 1060, 1360, 1660, 1960, 2003}},
		"a claim is open":             {[]option{noSegment(3695, 3720), says(watch.Removed, 3695, 3705), restarts(3702, 3705)}, []float64{3700, 3705}},
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, c.set...).from(100).restarting(4400).expectAsked(c.asked...)
		})
	}
	for step, asked := range map[float64]float64{600: 4300, -600: 3100} {
		t.Run(fmt.Sprintf("the clock is set by %v s", step), func(t *testing.T) {
			scenario(t).from(100).until(1000).setClock(step).until(4400).expectAsked(asked)
		})
	}
}
