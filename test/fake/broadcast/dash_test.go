package broadcast_test

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

// mpd holds the parts of an MPD that the tests check.
type mpd struct {
	Type   string `xml:"type,attr"`
	Start  string `xml:"availabilityStartTime,attr"`
	Update string `xml:"minimumUpdatePeriod,attr"`
	Length string `xml:"mediaPresentationDuration,attr"`
	Sets   []struct {
		Template struct {
			Media    string `xml:"media,attr"`
			Number   string `xml:"startNumber,attr"`
			Duration string `xml:"duration,attr"`
			Timeline []struct {
				T int64 `xml:"t,attr"`
				D int64 `xml:"d,attr"`
				R int64 `xml:"r,attr"`
			} `xml:"SegmentTimeline>S"`
		} `xml:"Representation>SegmentTemplate"`
	} `xml:"Period>AdaptationSet"`
}

func TestAnMPDDescribesTheBroadcast(t *testing.T) {
	read := func(t *testing.T, s broadcast.Shape, elapsed time.Duration) (m mpd, base string) {
		t.Helper()
		b, server := startAt(t, s, elapsed)
		text := mustGet(t, server.URL+"/"+b.Entry())
		if err := xml.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m.Start != "2026-11-21T12:00:00.000Z" {
			t.Errorf("availabilityStartTime %s", m.Start)
		}
		return m, server.URL + "/"
	}
	demuxed := broadcast.Shape{MPD: broadcast.Timeline, Demuxed: true}
	t.Run("SegmentTimeline with $Number$", func(t *testing.T) {
		m, base := read(t, demuxed, 33*time.Second)
		v := m.Sets[0].Template
		if m.Type != "dynamic" || m.Update == "" || m.Length != "" || len(m.Sets) != 2 || len(v.Timeline) != 1 {
			t.Fatalf("MPD %+v", m)
		}
		if s := v.Timeline[0]; s.T != 10*s.D || s.R != 5 || v.Number != "11" {
			t.Errorf("SegmentTemplate %+v", v)
		}
		mustGet(t, base+"itag/269/seg-16.m4s")
		mustGet(t, base+"itag/269/init-0.mp4")
		if status, _ := get(t, base+"itag/269/seg-17.m4s"); status != http.StatusNotFound {
			t.Errorf("status %d of a segment that is not published yet", status)
		}
	})
	t.Run("SegmentTimeline with $Time$", func(t *testing.T) {
		s := demuxed
		s.MPD = broadcast.TimelineTime
		m, base := read(t, s, 33*time.Second)
		for i, itag := range []string{"269", "234"} {
			at := m.Sets[i].Template.Timeline[0].T
			mustGet(t, base+"itag/"+itag+"/time-"+strconv.FormatInt(at, 10)+".m4s")
			if status, _ := get(t, base+"itag/"+itag+"/time-"+strconv.FormatInt(at+1, 10)+".m4s"); status != http.StatusNotFound {
				t.Errorf("status %d of a time at which no segment begins", status)
			}
		}
	})
	t.Run("a duration with $Number$", func(t *testing.T) {
		s := demuxed
		s.MPD = broadcast.Number
		m, _ := read(t, s, 33*time.Second)
		if v := m.Sets[1].Template; v.Number != "1" || v.Duration == "" || len(v.Timeline) != 0 {
			t.Errorf("SegmentTemplate %+v", v)
		}
	})
	t.Run("an ended static MPD", func(t *testing.T) {
		if m, _ := read(t, demuxed, 70*time.Second); m.Type != "static" || m.Update != "" || m.Length != "PT62S" {
			t.Errorf("MPD %+v", m)
		}
	})
	t.Run("an ended dynamic MPD", func(t *testing.T) {
		s := demuxed
		s.Ends = broadcast.Duration
		if m, _ := read(t, s, 70*time.Second); m.Type != "dynamic" || m.Update != "" || m.Length != "PT62S" {
			t.Errorf("MPD %+v", m)
		}
	})
}
