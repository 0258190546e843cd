package broadcast_test

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

// mpd is what is looked at of an MPD.
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
	read := func(t *testing.T, s broadcast.Shape, past time.Duration) (m mpd, base string) {
		t.Helper()
		b, server := onAir(t, s, past)
		text := mustGet(t, server.URL+"/"+b.Entry())
		if err := xml.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m.Start != "2026-11-21T12:00:00.000Z" {
			t.Errorf("availabilityStartTime %s", m.Start)
		}
		return m, server.URL + "/"
	}
	apart := broadcast.Shape{MPD: broadcast.Timeline, Demuxed: true}
	t.Run("a timeline of numbers", func(t *testing.T) {
		m, base := read(t, apart, 33*time.Second)
		v := m.Sets[0].Template
		if m.Type != "dynamic" || m.Update == "" || m.Length != "" || len(m.Sets) != 2 || len(v.Timeline) != 1 {
			t.Fatalf("%+v", m)
		}
		if s := v.Timeline[0]; s.T != 10*s.D || s.R != 5 || v.Number != "11" {
			t.Errorf("%+v", v)
		}
		mustGet(t, base+"itag/269/seg-16.m4s")
		mustGet(t, base+"itag/269/init-0.mp4")
		if status, _ := get(t, base+"itag/269/seg-17.m4s"); status != http.StatusNotFound {
			t.Errorf("status %d of the segment that is yet to come", status)
		}
	})
	t.Run("a timeline of times", func(t *testing.T) {
		s := apart
		s.MPD = broadcast.TimelineTime
		m, base := read(t, s, 33*time.Second)
		for i, itag := range []string{"269", "234"} {
			at := m.Sets[i].Template.Timeline[0].T
			mustGet(t, base+"itag/"+itag+"/time-"+strconv.FormatInt(at, 10)+".m4s")
			if status, _ := get(t, base+"itag/"+itag+"/time-"+strconv.FormatInt(at+1, 10)+".m4s"); status != http.StatusNotFound {
				t.Errorf("status %d of a time at which nothing begins", status)
			}
		}
	})
	t.Run("numbers alone", func(t *testing.T) {
		s := apart
		s.MPD = broadcast.Number
		m, _ := read(t, s, 33*time.Second)
		if v := m.Sets[1].Template; v.Number != "1" || v.Duration == "" || len(v.Timeline) != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("over, static", func(t *testing.T) {
		if m, _ := read(t, apart, 70*time.Second); m.Type != "static" || m.Update != "" || m.Length != "PT62S" {
			t.Errorf("%+v", m)
		}
	})
	t.Run("over, by its duration", func(t *testing.T) {
		s := apart
		s.Ends = broadcast.Duration
		if m, _ := read(t, s, 70*time.Second); m.Type != "dynamic" || m.Update != "" || m.Length != "PT62S" {
			t.Errorf("%+v", m)
		}
	})
}
