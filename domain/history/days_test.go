package history_test

import (
	"archive/zip"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
)

// Of the zones of the tz database some skip midnight, some a whole day, and some have a midnight twice.
func TestDaysOfEveryZoneAreDays(t *testing.T) { // section 16.3
	zones, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")) //nolint:staticcheck // tests run where Go is installed
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zones.Close() }()
	from, to := time.Date(2008, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, file := range zones.File {
		if file.FileInfo().IsDir() {
			continue
		}
		z := zone(t, file.Name)
		for year := from; year.Before(to); year = year.AddDate(1, 0, 0) {
			end := year.AddDate(1, 0, 0)
			days := history.Periods(history.Day, z, year, end)
			if n := len(days); n < 365 || n > 367 || days[0].From.After(year) || days[n-1].To.Before(end) {
				t.Fatalf("%s has %d days from %v on", file.Name, n, year)
			}
			for i, day := range days {
				length := day.To.Sub(day.From)
				if length < 21*time.Hour || length > 27*time.Hour || i > 0 && !days[i-1].To.Equal(day.From) {
					t.Fatalf("%s has the day %v to %v", file.Name, day.From, day.To)
				}
			}
		}
	}
}
