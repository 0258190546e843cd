package ffmpeg

import (
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// filter is the ffmpeg filter of one detector. It passes every frame on and adds
// metadata to the frames on which an interval begins or ends.
type filter struct {
	// expression returns the filter with its options, for -vf or -af.
	expression func(Settings) string

	// The metadata keys of an interval. Their values are times in seconds.
	startKey, endKey string

	// minDuration is the length below which an interval is dropped; 0: none is. One that
	// touches an end of the track is kept: it may be part of a longer one.
	minDuration time.Duration
}

// filters has the filters of the detectors without a Rule. The program of package decoder does what they
// do; it measures what the other detectors judge, and the command does not.
var filters = map[detector.Name]filter{detector.Blackout: blackout, detector.Silence: silence}

// Settings returns the value of a field of a registration's config object. Only
// fields of detector.Table are asked for.
type Settings func(field string) float64

// trackFilter is a filter with the name of its detector.
type trackFilter struct {
	filter

	detector detector.Name
}

// ofTrack returns the filters of one track in the order of detector.Table.
func ofTrack(track detector.Track) []trackFilter {
	var chain []trackFilter
	for _, d := range detector.Table {
		if f, ok := filters[d.Name]; ok && d.Track == track {
			chain = append(chain, trackFilter{f, d.Name})
		}
	}
	return chain
}

// Filters returns the names of the ffmpeg filters that the detectors and the measures of a second need. An ffmpeg that was built for another purpose may lack them.
func Filters() (names []string) {
	for _, d := range detector.Table {
		if f, ok := filters[d.Name]; ok {
			name, _, _ := strings.Cut(f.expression(func(string) float64 { return 0 }), "=")
			names = append(names, name)
		}
	}
	return append(names, "signalstats", "astats")
}

// intervals are those that each detector found.
type intervals map[detector.Name][]detector.Interval
