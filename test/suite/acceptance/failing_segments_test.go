package acceptance_test

import (
	"hash/fnv"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

var sequence = regexp.MustCompile(`/sq/(\d+)/`)

// halfOf is a fault of the segments whose number is chosen. Such a segment fails at
// every request.
func halfOf(chosen func(number string) bool, f httpfault.Fault) httpfault.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if m := sequence.FindStringSubmatch(r.URL.Path); m != nil && chosen(m[1]) {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// alternating chooses every second number.
func alternating(number string) bool { return (number[len(number)-1]-'0')%2 == 1 }

// scattered chooses about half of the numbers irregularly.
func scattered(number string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(number))
	return h.Sum32()>>7&1 == 1
}

func TestHalfTheSegmentsAreEnough(t *testing.T) { // section 6.6: an outage is a minute without any segment
	runTimeline(t, 4, 100*time.Second)
	cases := []struct {
		name          string
		fault         httpfault.Fault
		watchedStream *watchedStream
		longest       func() time.Duration // between two checks
		before        float64
		asked         int
	}{
		{name: "every second one answers 404", fault: halfOf(alternating, httpfault.Status(404))},
		{name: "half of them answer 500", fault: halfOf(scattered, httpfault.Status(500))},
		{name: "every second one is cut off", fault: halfOf(alternating, httpfault.Truncate())},
		{name: "half of them are not even media", fault: halfOf(scattered, httpfault.Zeros(100_000))},
	}
	for i := range cases {
		cases[i].watchedStream = watchStream(t, shared, livestream.Config{}, nil)
	}
	began := time.Now()
	for i := range cases {
		c := &cases[i]
		c.before, c.asked, c.longest = checks(t, shared, c.watchedStream.id), c.watchedStream.resolutions(), c.watchedStream.measureGaps()
		c.watchedStream.Fail(livestream.Segments, c.fault)
	}
	sleep(t.Context(), 10*time.Second)
	for _, c := range cases {
		c.watchedStream.goBlack()
	}
	for _, c := range cases {
		// The segment in which the picture changes may fail, and its neighbour too.
		c.watchedStream.subtest(t, c.name, func(*testing.T) { c.watchedStream.assertBlackoutCycle(3 * c.watchedStream.SegmentDuration()) })
	}
	for _, c := range cases {
		p := c.watchedStream
		p.subtest(t, c.name+", for a minute", func(t *testing.T) {
			p.sleepUntil(began, outageThreshold+5*time.Second)
			gap := c.longest()
			t.Logf("%v checks, no longer than %s apart; %d runs of yt-dlp", checks(t, shared, p.id)-c.before, gap, p.resolutions()-c.asked)
			if gap > renewalLimit+busyMachine {
				t.Errorf("no check for %s, though every other segment was available", gap)
			}
			if v := p.videoHealth(); v != "ok" {
				t.Errorf("the picture's health is %v", v)
			}
			p.Heal(livestream.Segments)
			p.waitCheck(45 * time.Second)
			p.endAndAssert(blackoutAlert, blackoutRecovered)
		})
	}
}
