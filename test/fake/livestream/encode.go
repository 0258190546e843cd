package livestream

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// loopDuration is the least length of the moving picture before it repeats. The tone has
// exactly this length, which is a whole number of AAC frames.
const loopDuration = 8 * time.Second

// picture returns the frames of the moving picture: enough whole segments to fill
// loopDuration.
func (l *Library) picture(ctx context.Context, r Rendition, segment time.Duration) ([][]byte, error) {
	length := roundUp(loopDuration, segment)
	name := fmt.Sprintf("picture-%dx%d-%ds-%d.h264", r.Width, r.Height, int(segment.Seconds()), fps)
	return l.frames(name, func() ([]byte, error) {
		size := fmt.Sprintf("%dx%d", r.Width, r.Height)
		args := []string{"-f", "lavfi", "-i", "testsrc2=size=" + size + ":rate=" + strconv.Itoa(fps)}
		switch {
		case l.clip != "" && l.bright:
			args = []string{"-stream_loop", "-1", "-i", l.clip, "-vf", fmt.Sprintf("fps=%d,scale=%d:%d,setsar=1", fps, r.Width, r.Height)}
		case l.clip != "":
			// The bright strip keeps dark scenes of the film from being black. Only
			// cues make the picture black.
			args = []string{
				"-stream_loop", "-1", "-i", l.clip, "-f", "lavfi", "-i", "testsrc2=size=" + size + ":rate=" + strconv.Itoa(fps),
				"-filter_complex", fmt.Sprintf("[0:v]fps=%d,scale=%d:%d,setsar=1[film];[1:v]crop=iw:ih/10:0:0[strip];[film][strip]overlay=0:H-h:shortest=1", fps, r.Width, r.Height),
			}
		}
		return testtools.FFmpeg(ctx, l.ffmpeg, "", nil, append(args, h264(length, segment)...)...)
	}, expectLength(length, accessUnits))
}

// black returns one segment of black.
func (l *Library) black(ctx context.Context, r Rendition, segment time.Duration) ([][]byte, error) {
	name := fmt.Sprintf("black-%dx%d-%ds-%d.h264", r.Width, r.Height, int(segment.Seconds()), fps)
	return l.frames(name, func() ([]byte, error) {
		source := fmt.Sprintf("color=black:size=%dx%d:rate=%d", r.Width, r.Height, fps)
		return testtools.FFmpeg(ctx, l.ffmpeg, "", nil, append([]string{"-f", "lavfi", "-i", source}, h264(segment, segment)...)...)
	}, expectLength(segment, accessUnits))
}

// video returns the frames of segment n, black in spans.
func (l *Library) video(ctx context.Context, r Rendition, segment time.Duration, n int64, spans []span) ([][]byte, error) {
	if len(spans) == 1 && spans[0] == (span{0, segment}) {
		return l.black(ctx, r, segment)
	}
	all, err := l.picture(ctx, r, segment)
	if err != nil {
		return nil, err
	}
	count := videoFramesBefore(segment)
	phase := n % (int64(len(all)) / count)
	units := all[phase*count : (phase+1)*count]
	if len(spans) == 0 {
		return units, nil
	}
	name := fmt.Sprintf("mixed-%dx%d-%ds-%d-%d", r.Width, r.Height, int(segment.Seconds()), fps, phase)
	var (
		conditions []string
		label      strings.Builder
	)
	for _, s := range spans {
		a, b := videoFramesBefore(s.from), videoFramesBefore(s.to)
		_, _ = fmt.Fprintf(&label, "-b%dp%d", a, b)
		conditions = append(conditions, fmt.Sprintf("between(n,%d,%d)", a, b-1))
	}
	return l.frames(name+label.String()+".h264", func() ([]byte, error) {
		box := "drawbox=color=black:t=fill:enable='" + strings.Join(conditions, "+") + "'"
		args := []string{"-f", "h264", "-framerate", strconv.Itoa(fps), "-i", "pipe:0", "-vf", box}
		return testtools.FFmpeg(ctx, l.ffmpeg, "", bytes.Join(units, nil), append(args, h264(segment, segment)...)...)
	}, expectLength(segment, accessUnits))
}

// h264 returns ffmpeg's arguments for the video codec. Without B-frames the decoding
// and presentation times are equal. Only the first frame of a segment is a key frame.
func h264(length, segment time.Duration) []string {
	group := strconv.FormatInt(videoFramesBefore(segment), 10)
	return []string{
		"-frames:v", strconv.FormatInt(videoFramesBefore(length), 10), "-an",
		"-c:v", "libx264", "-preset", "veryfast", "-profile:v", "main", "-pix_fmt", "yuv420p", "-crf", "26",
		"-bf", "0", "-g", group, "-keyint_min", group, "-sc_threshold", "0", "-x264-params", "aud=1",
		"-threads", "1", "-f", "h264", "pipe:1",
	}
}

// audioLoops are AAC frames that repeat.
type audioLoops struct{ tone, quiet, silence [][]byte }

// audio returns the loops of tone, quiet tone and silence.
func (l *Library) audio(ctx context.Context) (audioLoops, error) {
	count := int(audioFramesBefore(loopDuration))
	encodeLoop := func(name, source string) ([][]byte, error) {
		frames, err := l.frames(name, func() ([]byte, error) {
			// Two loops are encoded and the second is kept, so that its last frame
			// continues in its first without a click.
			return testtools.FFmpeg(ctx, l.ffmpeg, "", nil, "-f", "lavfi", "-i", source, "-vn",
				"-t", fmt.Sprint(2*loopDuration.Seconds()), "-c:a", "aac", "-b:a", "64k", "-f", "adts", "pipe:1")
		}, adtsFrames)
		if err != nil {
			return nil, err
		}
		if len(frames) < 2*count+1 {
			return nil, fmt.Errorf("livestream: %s has %d frames, expected %d", name, len(frames), 2*count+1)
		}
		// The encoder's first frame is priming: 1024 samples of silence.
		return frames[count+1 : 2*count+1], nil
	}
	tone, err := encodeLoop("tone.adts", fmt.Sprintf("aevalsrc=0.2*sin(2*PI*440*t)+0.1*sin(2*PI*660*t)*(1+sin(2*PI*t)):s=%d", sampleRate))
	if err != nil {
		return audioLoops{}, err
	}
	quiet, err := encodeLoop("quiet.adts", fmt.Sprintf("aevalsrc=0.02*sin(2*PI*440*t)+0.01*sin(2*PI*660*t)*(1+sin(2*PI*t)):s=%d", sampleRate))
	if err != nil {
		return audioLoops{}, err
	}
	silence, err := encodeLoop("silence.adts", fmt.Sprintf("anullsrc=r=%d:cl=mono", sampleRate))
	return audioLoops{tone, quiet, silence}, err
}

// expectLength returns split with an error for any other length of video.
func expectLength(length time.Duration, split func([]byte) ([][]byte, error)) func([]byte) ([][]byte, error) {
	return func(b []byte) ([][]byte, error) {
		units, err := split(b)
		if err == nil && int64(len(units)) != videoFramesBefore(length) {
			err = fmt.Errorf("livestream: %d frames, expected %d", len(units), videoFramesBefore(length))
		}
		return units, err
	}
}
