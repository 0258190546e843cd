package broadcast

import (
	"fmt"
	"strings"
	"time"
)

// mpdText returns the current MPD. Its attributes are those of ffmpeg's MPDs; the type,
// the times and the window are those of a live origin.
func (b *Broadcast) mpdText() string {
	var out strings.Builder
	now, ended := time.Now(), b.ended()
	out.WriteString(`<?xml version="1.0" encoding="utf-8"?>` + "\n")
	out.WriteString(`<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011"`)
	fmt.Fprintf(&out, ` availabilityStartTime=%q publishTime=%q minBufferTime="PT4S" maxSegmentDuration=%q`,
		xmlTime(b.start()), xmlTime(now), xmlDuration(b.shape.Segment))
	window := xmlDuration(time.Duration(b.shape.Window) * b.shape.Segment)
	length := xmlDuration(Program.End)
	switch {
	case ended && b.shape.Ends == Static:
		fmt.Fprintf(&out, ` type="static" mediaPresentationDuration=%q>`, length)
	case ended:
		fmt.Fprintf(&out, ` type="dynamic" timeShiftBufferDepth=%q mediaPresentationDuration=%q>`, window, length)
	default:
		fmt.Fprintf(&out, ` type="dynamic" timeShiftBufferDepth=%q minimumUpdatePeriod="PT2S" suggestedPresentationDelay="PT6S">`, window)
	}
	out.WriteString("\n" + `<Period id="0" start="PT0S">` + "\n")
	for i := range b.tracks {
		b.adaptationSet(&out, i)
	}
	out.WriteString("</Period>\n")
	fmt.Fprintf(&out, `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value=%q/>`+"\n</MPD>\n", xmlTime(now))
	return out.String()
}

func (b *Broadcast) adaptationSet(out *strings.Builder, i int) {
	t := &b.tracks[i]
	kind := "audio"
	if t.video != NoVideo {
		kind = "video"
	}
	fmt.Fprintf(out, `<AdaptationSet id="%d" contentType=%q mimeType="%s/mp4" startWithSAP="1" segmentAlignment="true">`+"\n", i, kind, kind)
	out.WriteString(`<Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>` + "\n")
	codecs := []string{}
	if v, ok := videos[t.video]; ok {
		codecs = append(codecs, v.codecs)
	}
	if a, ok := audios[t.audio]; ok {
		codecs = append(codecs, a.codecs)
	}
	fmt.Fprintf(out, `<Representation id="%d" codecs=%q`, t.itag, strings.Join(codecs, ","))
	if v, ok := videos[t.video]; ok {
		fmt.Fprintf(out, ` bandwidth="200000" width="%d" height="%d" frameRate="%d" sar="1:1">`+"\n", v.width, v.height, fps)
	} else {
		fmt.Fprintf(out, ` bandwidth="64000" audioSamplingRate="%d">`+"\n", audios[t.audio].rate)
		out.WriteString(`<AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="1"/>` + "\n")
	}
	b.template(out, t)
	out.WriteString("</Representation>\n</AdaptationSet>\n")
}

// muxedScale is the timescale of segments from ffmpeg's hls muxer.
const muxedScale = 1000

func (b *Broadcast) template(out *strings.Builder, t *track) {
	scale := t.timescale
	if scale == 0 {
		scale = muxedScale
	}
	media := `seg-$Number$.m4s`
	if b.shape.MPD == TimelineTime {
		media = `time-$Time$.m4s`
	}
	from, to := b.window(t, b.elapsed())
	fmt.Fprintf(out, `<SegmentTemplate timescale="%d" initialization="itag/$RepresentationID$/%s" media="itag/$RepresentationID$/%s"`, scale, initName(0, nil), media)
	if t.first != 0 {
		fmt.Fprintf(out, ` presentationTimeOffset="%d"`, t.first)
	}
	if b.shape.MPD == Number {
		fmt.Fprintf(out, ` duration="%d" startNumber="1"/>`+"\n", int64(b.shape.Segment/time.Second)*scale)
		return
	}
	if b.shape.MPD == Timeline {
		fmt.Fprintf(out, ` startNumber="%d"`, from+1)
	}
	out.WriteString(">\n<SegmentTimeline>\n")
	for n := from; n < to; {
		repeats := 1
		for n+repeats < to && t.ticksOf(n+repeats) == t.ticksOf(n) {
			repeats++
		}
		fmt.Fprintf(out, `<S t="%d" d="%d" r="%d"/>`+"\n", t.timeOf(n), t.ticksOf(n), repeats-1)
		n += repeats
	}
	out.WriteString("</SegmentTimeline>\n</SegmentTemplate>\n")
}

// ticksOf returns the duration of segment n in the timescale.
func (t *track) ticksOf(n int) int64 {
	if t.timescale == 0 {
		return int64(t.segments[n].duration / (time.Second / muxedScale))
	}
	return t.segments[n].ticks
}

// timeOf returns the start of segment n in the timescale.
func (t *track) timeOf(n int) int64 {
	at := t.first
	for i := range n {
		at += t.ticksOf(i)
	}
	return at
}

func xmlTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func xmlDuration(d time.Duration) string { return fmt.Sprintf("PT%gS", d.Seconds()) }
