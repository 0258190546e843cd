package livestream

import (
	"fmt"
	"strings"
	"time"
)

// mpdText returns the current MPD.
func (s *Stream) mpdText() string {
	var out strings.Builder
	at := s.offset()
	now, segment := s.At(at), s.config.Segment
	_, ended := s.timeline.of(everyRendition).edge(at)
	out.WriteString(`<?xml version="1.0" encoding="utf-8"?>` + "\n")
	out.WriteString(`<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011"`)
	fmt.Fprintf(&out, ` availabilityStartTime=%q publishTime=%q minBufferTime="PT4S" maxSegmentDuration=%q`, xmlTime(s.Began()), xmlTime(now), xmlDuration(segment))
	window, length := xmlDuration(s.config.Window), xmlDuration(s.begin(s.published(everyRendition, at)))
	switch {
	case ended && s.config.Packaging.EndsInMotion:
		fmt.Fprintf(&out, ` type="dynamic" timeShiftBufferDepth=%q mediaPresentationDuration=%q>`, window, length)
	case ended:
		fmt.Fprintf(&out, ` type="static" mediaPresentationDuration=%q>`, length)
	default:
		fmt.Fprintf(&out, ` type="dynamic" timeShiftBufferDepth=%q minimumUpdatePeriod="PT2S" suggestedPresentationDelay="PT6S">`, window)
	}
	out.WriteString("\n" + `<Period id="0" start="PT0S">` + "\n")
	for i, r := range s.Renditions() {
		s.adaptationSet(&out, i, r, at)
	}
	fmt.Fprintf(&out, "</Period>\n"+`<UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value=%q/>`+"\n</MPD>\n", xmlTime(now))
	return out.String()
}

func (s *Stream) adaptationSet(out *strings.Builder, i int, r Rendition, at time.Duration) {
	kind, format, codec := "audio", "mp4", fmt.Sprintf(" codecs=%q", codecs(r.HasVideo(), r.HasAudio()))
	switch {
	case r.HasVideo():
		kind = "video"
	case r.isText():
		kind, format, codec = "text", "vtt", ""
	}
	fmt.Fprintf(out, `<AdaptationSet id="%d" contentType=%q mimeType="%s/%s" startWithSAP="1" segmentAlignment="true">`+"\n", i, kind, kind, format)
	out.WriteString(`<Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>` + "\n")
	fmt.Fprintf(out, `<Representation id="%d"%s bandwidth="%d"`, r.Itag, codec, r.Bandwidth)
	switch {
	case r.isText():
		out.WriteString(">\n")
	case r.HasVideo():
		fmt.Fprintf(out, ` width="%d" height="%d" frameRate="%d" sar="1:1">`+"\n", r.Width, r.Height, fps)
	default:
		fmt.Fprintf(out, ` audioSamplingRate="%d">`+"\n", sampleRate)
		out.WriteString(`<AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="1"/>` + "\n")
	}
	s.template(out, r, at)
	out.WriteString("</Representation>\n</AdaptationSet>\n")
}

// template writes how segments are addressed. Those of a SegmentTimeline have their exact times.
func (s *Stream) template(out *strings.Builder, r Rendition, at time.Duration) {
	timescale, media := sampleRate, `seg-$Number$`
	if r.HasVideo() || r.isText() {
		timescale = ticks
	}
	if s.config.Packaging.DASH == TimelineTime {
		media = `time-$Time$`
	}
	from, to := s.window(r.Itag, at)
	fmt.Fprintf(out, `<SegmentTemplate timescale="%d" media="itag/$RepresentationID$/%s%s"`, timescale, media, extension(r, s.config.Packaging))
	if !r.isText() {
		fmt.Fprintf(out, ` initialization="itag/$RepresentationID$/%s"`, initName)
	}
	switch s.config.Packaging.DASH {
	case Number:
		fmt.Fprintf(out, ` duration="%d" startNumber="0"/>`+"\n", int(s.config.Segment.Seconds())*timescale)
		return
	case Timeline:
		fmt.Fprintf(out, ` startNumber="%d"`, from)
	default:
	}
	out.WriteString(">\n<SegmentTimeline>\n")
	for n := from; n < to; n++ {
		fmt.Fprintf(out, `<S t="%d" d="%d"/>`+"\n", s.timeOf(r, n), s.timeOf(r, n+1)-s.timeOf(r, n))
	}
	out.WriteString("</SegmentTimeline>\n</SegmentTemplate>\n")
}

// timeOf returns when segment n begins, in the timescale of the rendition's first track.
func (s *Stream) timeOf(r Rendition, n int64) int64 { return decodeTimes(r, s.begin(n))[0] }

func xmlTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func xmlDuration(d time.Duration) string { return fmt.Sprintf("PT%gS", d.Seconds()) }
