package dash_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// livesimMPD is like those of the DASH-IF live simulator: only numbers, counted from
// 1970.
const livesimMPD = `<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" availabilityStartTime="1970-01-01T00:00:00Z"
  id="1" maxSegmentDuration="PT2S" minBufferTime="PT2S" minimumUpdatePeriod="PT10M" profiles="urn:mpeg:dash:profile:isoff-live:2011"
  publishTime="1970-01-01T00:00:00Z" timeShiftBufferDepth="PT12S" type="dynamic" xsi:schemaLocation="urn:mpeg:dash:schema:mpd:2011 DASH-MPD.xsd">
  <ProgramInformation><Title>Media Presentation Description from DASH-IF live simulator</Title></ProgramInformation>
  <BaseURL availabilityTimeOffset="INF">https://livesim.example.com/livesim/testpic_2s/</BaseURL>
  <Period id="p0" start="PT0S">
    <AdaptationSet contentType="video" maxFrameRate="60/2" maxHeight="360" maxWidth="640" mimeType="video/mp4" par="16:9" segmentAlignment="true" startWithSAP="1">
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <SegmentTemplate duration="2" initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number$.m4s" startNumber="0"/>
      <Representation bandwidth="300000" codecs="avc1.64001e" frameRate="60/2" height="360" id="V300" sar="1:1" width="640"/>
    </AdaptationSet>
    <AdaptationSet contentType="audio" lang="en" mimeType="audio/mp4" segmentAlignment="true" startWithSAP="1">
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <SegmentTemplate duration="2" initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number$.m4s" startNumber="0"/>
      <Representation audioSamplingRate="48000" bandwidth="48000" codecs="mp4a.40.2" id="A48">
        <AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"/>
      </Representation>
    </AdaptationSet>
  </Period>
  <UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-xsdate:2014" value="https://time.example.com/?iso&amp;ms"/>
</MPD>`

// shakaMPD is like those of Shaka Packager: a SegmentTimeline with $Time$ for each
// representation.
const shakaMPD = `<?xml version="1.0" encoding="UTF-8"?>
<!--Generated with https://github.com/shaka-project/shaka-packager version v3.2.0-release-->
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:mpeg:dash:schema:mpd:2011 DASH-MPD.xsd" profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT2S" type="dynamic" publishTime="2026-11-21T11:59:57Z" availabilityStartTime="2026-11-21T11:50:00.125Z" minimumUpdatePeriod="PT5S" timeShiftBufferDepth="PT1800S">
  <Period id="0" start="PT0S">
    <AdaptationSet id="0" contentType="audio" startWithSAP="1" segmentAlignment="true">
      <Representation id="0" bandwidth="133334" codecs="mp4a.40.2" mimeType="audio/mp4" audioSamplingRate="44100">
        <SegmentTemplate timescale="44100" initialization="audio_init.mp4" media="audio_$Time$.m4s" startNumber="296">
          <SegmentTimeline>
            <S t="26018816" d="88064" r="1"/>
            <S t="26194944" d="87040"/>
          </SegmentTimeline>
        </SegmentTemplate>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="1" contentType="video" width="640" height="360" frameRate="90000/3000" segmentAlignment="true" par="16:9">
      <Representation id="1" bandwidth="973483" codecs="avc1.64001e" mimeType="video/mp4" sar="1:1">
        <SegmentTemplate timescale="90000" initialization="h264_360p_init.mp4" media="h264_360p_$Time$.m4s" startNumber="296">
          <SegmentTimeline>
            <S t="53100000" d="180000" r="2"/>
          </SegmentTimeline>
        </SegmentTemplate>
      </Representation>
    </AdaptationSet>
  </Period>
</MPD>`

// youtubeMPD is like those of YouTube: one SegmentTimeline for all representations, and
// a list of signed paths for each.
const youtubeMPD = `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:DASH:schema:MPD:2011" xmlns:yt="http://youtube.com/yt/2012/10/10" availabilityStartTime="2026-11-21T11:00:00" minBufferTime="PT1.500S" minimumUpdatePeriod="PT5.000S" profiles="urn:mpeg:dash:profile:isoff-main:2011" timeShiftBufferDepth="PT14400.000S" type="dynamic" yt:earliestMediaSequence="0" yt:mpdRequestTime="2026-11-21T12:00:00.100" yt:mpdResponseTime="2026-11-21T12:00:00.110">
  <Period start="PT3585.000S" yt:segmentIngestTime="2026-11-21T11:59:45.000">
    <SegmentList presentationTimeOffset="3585000" startNumber="717" timescale="1000">
      <SegmentTimeline><S t="3585000" d="5000" r="1"/><S d="4999"/></SegmentTimeline>
    </SegmentList>
    <AdaptationSet id="0" mimeType="audio/mp4" subsegmentAlignment="true">
      <Role schemeIdUri="urn:mpeg:DASH:role:2011" value="main"/>
      <Representation audioSamplingRate="48000" bandwidth="144000" codecs="mp4a.40.2" id="140" startWithSAP="1">
        <BaseURL>https://rr1---sn-a5.googlevideo.com/videoplayback/expire/1795245845/id/AAAA.1/itag/140/source/yt_live_broadcast/sig/AOq0QJ8w%3D/</BaseURL>
        <SegmentList><SegmentURL media="sq/717/lmt/1795000000000001"/><SegmentURL media="sq/718/lmt/1795000000000001"/><SegmentURL media="sq/719/lmt/1795000000000001"/></SegmentList>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="1" mimeType="video/mp4" subsegmentAlignment="true">
      <Role schemeIdUri="urn:mpeg:DASH:role:2011" value="main"/>
      <Representation bandwidth="126000" codecs="avc1.42c00b" frameRate="15" height="144" id="160" maxPlayoutRate="1" startWithSAP="1" width="256">
        <BaseURL>https://rr1---sn-a5.googlevideo.com/videoplayback/expire/1795245845/id/AAAA.1/itag/160/source/yt_live_broadcast/sig/AOq0QJ8w%3D/</BaseURL>
        <SegmentList><SegmentURL media="sq/717/lmt/1795000000000001"/><SegmentURL media="sq/718/lmt/1795000000000001"/><SegmentURL media="sq/719/lmt/1795000000000001"/></SegmentList>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="2" mimeType="video/webm" subsegmentAlignment="true">
      <Representation bandwidth="90000" codecs="vp9" height="144" id="278" width="256">
        <BaseURL>https://rr1---sn-a5.googlevideo.com/videoplayback/itag/278/</BaseURL>
        <SegmentList><SegmentURL media="sq/717"/></SegmentList>
      </Representation>
    </AdaptationSet>
  </Period>
</MPD>`

func TestAnMPDOfLivesimIsDecoded(t *testing.T) {
	all := renditions(t, livesimMPD, noon)
	if len(all) != 2 || all[0].Height != 360 || !all[0].HasVideo || all[0].HasAudio || !all[1].HasAudio || all[1].HasVideo {
		t.Fatalf("got %+v", all)
	}
	got := readRendition(t, livesimMPD, fragmentOf(t, all[1]), noon)
	if len(got.Segments) != 6 || got.TargetDuration != 2*time.Second || got.Ended {
		t.Fatalf("got %+v", got)
	}
	// 12:00:00 is 1795262400: segment 897631199 ends then, and is withheld.
	want := watch.Segment{
		URI: "https://livesim.example.com/livesim/testpic_2s/A48/897631198.m4s", Sequence: 897631198, Duration: 2 * time.Second,
		ProgramTime: noon.Add(-4 * time.Second), Container: "mp4",
		Init: &watch.Init{URI: "https://livesim.example.com/livesim/testpic_2s/A48/init.mp4"},
	}
	if newest := got.Segments[5]; !reflect.DeepEqual(newest, want) {
		t.Errorf("got  %+v\nwant %+v", newest, want)
	}
}

func TestAnMPDOfShakaPackagerIsDecoded(t *testing.T) {
	all := renditions(t, shakaMPD, noon)
	if len(all) != 2 || all[0].HasVideo || all[1].HasAudio || all[1].Height != 360 {
		t.Fatalf("got %+v", all)
	}
	sound := readRendition(t, shakaMPD, fragmentOf(t, all[0]), noon)
	if got, want := len(sound.Segments), 3; got != want {
		t.Fatalf("got %d segments", got)
	}
	newest := sound.Segments[2]
	if newest.URI != "https://cdn.example.com/live/audio_26194944.m4s" || newest.Sequence != 26194944 ||
		newest.Duration != 1973696145 || newest.ProgramTime.Format(time.RFC3339Nano) != "2026-11-21T11:59:54.114659863Z" {
		t.Errorf("got %+v", newest)
	}
	if got, want := summary(readRendition(t, shakaMPD, fragmentOf(t, all[1]), noon)), "h264_360p_53100000.m4s@-9.875+2 h264_360p_53280000.m4s@-7.875+2 h264_360p_53460000.m4s@-5.875+2"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnMPDOfYouTubeIsDecoded(t *testing.T) {
	all := renditions(t, youtubeMPD, noon)
	if len(all) != 2 || !all[0].HasAudio || !all[1].HasVideo || all[1].Height != 144 {
		t.Fatalf("got %+v", all)
	}
	got := readRendition(t, youtubeMPD, fragmentOf(t, all[1]), noon)
	if len(got.Segments) != 3 {
		t.Fatalf("got %+v", got)
	}
	want := watch.Segment{
		URI:      "https://rr1---sn-a5.googlevideo.com/videoplayback/expire/1795245845/id/AAAA.1/itag/160/source/yt_live_broadcast/sig/AOq0QJ8w%3D/sq/719/lmt/1795000000000001",
		Sequence: 719, Duration: 4999 * time.Millisecond, ProgramTime: noon.Add(-5 * time.Second), Container: "mp4",
	}
	if newest := got.Segments[2]; !reflect.DeepEqual(newest, want) {
		t.Errorf("got  %+v\nwant %+v", newest, want)
	}
}
