package broadcast

import "time"

// Shapes lists the shapes for table tests.
func Shapes() []NamedShape {
	return []NamedShape{
		{"muxed TS, segments of 1 s", Shape{Segment: time.Second}},
		{"muxed TS, segments of 2 s", Shape{}},
		{"muxed TS, segments of 5 s", Shape{Segment: 5 * time.Second}},
		{"a window of 3 segments", Shape{Window: 3}},
		{"a window of an hour", Shape{Segment: time.Second, History: time.Hour}},
		{"a media playlist as entry", Shape{MediaEntry: true}},
		{"no program time", Shape{ProgramTime: NoDateTime, Segment: 5 * time.Second}},
		{"TS byte ranges", Shape{SingleFile: true}},
		{"AES-128, one key", Shape{Keys: ByFFmpeg}},
		{"AES-128, rotating keys", Shape{Keys: Rotating}},
		{"AES-128 of fMP4, rotating keys", Shape{Keys: Rotating, Container: FMP4}},
		{"fMP4", Shape{Container: FMP4}},
		{"fMP4 byte ranges", Shape{Container: FMP4, SingleFile: true}},
		{"demuxed TS", Shape{Demuxed: true}},
		{"demuxed fMP4", Shape{Demuxed: true, Container: FMP4}},
		{"demuxed, packed AAC", Shape{Demuxed: true, Container: Packed}},
		{"demuxed, packed MP3", Shape{Demuxed: true, Container: Packed, Audio: MP3, Video: H264}},
		{"low latency, TS", Shape{Parts: true}},
		{"low latency, demuxed fMP4", Shape{Parts: true, Demuxed: true, Container: FMP4, Segment: 4 * time.Second}},
		{"a delta update", Shape{Delta: true, Window: 15}},
		{"a delta update of low latency", Shape{Delta: true, Parts: true, Window: 15, Container: FMP4}},
		{"gaps", Shape{Gaps: []time.Duration{21 * time.Second, 35 * time.Second, 42 * time.Second, 51 * time.Second}}},
		{"timestamps that jump back", Shape{Reconnect: 36 * time.Second}},
		{"timestamps that jump back without a discontinuity", Shape{Reconnect: 44 * time.Second, NoDiscontinuity: true}},
		{"an encoder that reconnects", Shape{Reconnect: 44 * time.Second, ReconnectVideo: H264Baseline, ReconnectGap: 3 * time.Second}},
		{"an encoder that reconnects, fMP4", Shape{Reconnect: 44 * time.Second, ReconnectVideo: H264Baseline, ReconnectGap: 3 * time.Second, Container: FMP4}},
		{"audio only", Shape{Audio: AAC}},
		{"video only", Shape{Video: H264}},
		{"HEVC", Shape{Video: HEVC, Audio: AAC, Container: FMP4}},
		{"HEVC in TS", Shape{Video: HEVC, Audio: AAC}},
		{"VP9 and Opus", Shape{Video: VP9, Audio: Opus, Container: FMP4}},
		{"AV1 and Opus", Shape{Video: AV1, Audio: Opus, Container: FMP4}},
		{"MP3", Shape{Video: H264, Audio: MP3}},
		{"HE-AAC", Shape{Video: H264, Audio: HEAAC, Container: FMP4}},
		{"DASH, SegmentTimeline and $Time$, ended by static", Shape{MPD: TimelineTime, Demuxed: true}},
		{"DASH, SegmentTimeline and $Number$, ended by its duration", Shape{MPD: Timeline, Demuxed: true, Ends: Duration}},
		{"DASH, duration and $Number$, ended by its duration", Shape{MPD: Number, Demuxed: true, Ends: Duration}},
		{"DASH, segments of 5 s, ended by static", Shape{MPD: Timeline, Demuxed: true, Segment: 5 * time.Second}},
		{"DASH muxed", Shape{MPD: TimelineTime}},
		{"DASH of VP9 and Opus", Shape{MPD: Timeline, Demuxed: true, Video: VP9, Audio: Opus}},
	}
}

// NamedShape is a row of Shapes.
type NamedShape struct {
	Name string
	Shape
}
