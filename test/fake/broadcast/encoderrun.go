package broadcast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// encoderRun is one run of ffmpeg. It encodes and packages a part of the recording.
type encoderRun struct {
	video      Video
	audio      Audio
	container  Container
	segment    time.Duration
	demuxed    bool
	singleFile bool
	encrypted  bool
	mpd        Addressing // Timeline or Number; HLS for a run without an MPD
	from, to   time.Duration
}

// Names of ffmpeg's files, and the key.
const (
	manifest   = "manifest.mpd"
	keyInfo    = "keyinfo"
	keyFile    = "key.bin"
	ffmpegKey  = "sixteen byte key"
	packedList = "packed.m3u8"
)

// encoderRuns returns the runs of ffmpeg for a shape: one, or two if the encoder reconnects.
func (s Shape) encoderRuns() []encoderRun {
	r := encoderRun{
		video: s.Video, audio: s.Audio, container: s.Container, segment: s.Segment, demuxed: s.Demuxed, singleFile: s.SingleFile,
		encrypted: s.Keys == ByFFmpeg, to: Program.End,
	}
	switch {
	case s.Parts:
		r.segment = part
	case s.MPD == Number && (s.Demuxed || s.Video == NoVideo || s.Audio == NoAudio):
		r.mpd = Number
	case s.MPD != HLS && (s.Demuxed || s.Video == NoVideo || s.Audio == NoAudio):
		r.mpd = Timeline // for $Time$ and $Number$; ffmpeg's dash muxer writes no muxed segments
	}
	if s.Reconnect == 0 {
		return []encoderRun{r}
	}
	next := r
	next.video = s.ReconnectVideo
	r.to, next.from = s.Reconnect, s.Reconnect
	return []encoderRun{r, next}
}

// name returns the name of the run's directory, with a hash of the arguments.
func (r encoderRun) name() string {
	sum := sha256.Sum256([]byte(cacheVersion + strings.Join(r.arguments(), "\x00")))
	return fmt.Sprintf("%s-%s-%s", cacheVersion, strings.Trim(string(r.video)+"-"+string(r.audio), "-"), hex.EncodeToString(sum[:6]))
}

// arguments returns ffmpeg's command line.
func (r encoderRun) arguments() []string {
	var args, maps, codecs []string
	inputs := 0
	if v, ok := videos[r.video]; ok {
		args = append(args, "-f", "lavfi", "-i", videoFilter(v.width, v.height, r.from, r.to))
		maps = append(maps, "-map", fmt.Sprintf("%d:v", inputs))
		codecs = append(append(codecs, "-c:v"), v.encoder...)
		codecs = append(codecs, "-g", fmt.Sprint(gopFrames), "-keyint_min", fmt.Sprint(gopFrames), "-pix_fmt", "yuv420p", "-threads", "1")
		inputs++
	}
	if a, ok := audios[r.audio]; ok {
		args = append(args, "-f", "lavfi", "-i", audioFilter(a.rate, r.from, r.to))
		maps = append(maps, "-map", fmt.Sprintf("%d:a", inputs))
		codecs = append(append(codecs, "-c:a"), a.encoder...)
	}
	seconds := fmt.Sprint(r.segment.Seconds())
	switch {
	case r.mpd != HLS:
		return slices.Concat(args, maps, codecs, r.dash(seconds))
	case r.container == Packed && r.video == NoVideo:
		return slices.Concat(args, maps, codecs, r.packed(seconds))
	case r.container == Packed:
		// Two outputs: ffmpeg's hls muxer does not write packed audio.
		video := append(slices.Clone(codecs), r.hls(seconds)...)
		return slices.Concat(args, maps[:2], video, maps[2:], codecs, r.packed(seconds))
	}
	return slices.Concat(args, maps, codecs, r.hls(seconds))
}

func (r encoderRun) hls(seconds string) []string {
	args := []string{"-f", "hls", "-hls_time", seconds, "-hls_list_size", "0"}
	name := "%v-%05d.ts"
	if r.container == FMP4 {
		name = "%v-%05d.m4s"
		args = append(args, "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init-%v.mp4")
	}
	if r.singleFile {
		name = "%v.media"
		args = append(args, "-hls_flags", "single_file")
	}
	if r.encrypted {
		args = append(args, "-hls_key_info_file", keyInfo)
	}
	streams := map[bool]string{true: "v:0,agroup:sound a:0,agroup:sound", false: "v:0,a:0"}[r.demuxed]
	switch {
	case r.video == NoVideo:
		streams = "a:0"
	case r.audio == NoAudio, r.container == Packed:
		streams = "v:0"
	}
	return append(args, "-var_stream_map", streams, "-hls_segment_filename", name, "%v.m3u8")
}

func (r encoderRun) packed(seconds string) []string {
	format, options := "adts", "write_id3v2=0"
	if r.audio == MP3 {
		format, options = "mp3", "id3v2_version=0:write_xing=0"
	}
	return []string{
		"-f", "segment", "-segment_time", seconds, "-segment_format", format, "-segment_format_options", options,
		"-segment_list", packedList, "-segment_list_type", "m3u8", "-segment_list_size", "0", "packed-%05d." + string(r.audio),
	}
}

func (r encoderRun) dash(seconds string) []string {
	sets := "id=0,streams=v id=1,streams=a"
	switch {
	case r.video == NoVideo:
		sets = "id=0,streams=a"
	case r.audio == NoAudio:
		sets = "id=0,streams=v"
	}
	timeline := "1"
	if r.mpd == Number {
		timeline = "0"
	}
	return []string{
		"-f", "dash", "-dash_segment_type", "mp4", "-seg_duration", seconds, "-use_timeline", timeline, "-use_template", "1",
		"-adaptation_sets", sets, manifest,
	}
}
