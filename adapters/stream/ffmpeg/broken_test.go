package ffmpeg_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestATrackThatIsAnnouncedButCannotBeDecodedIsPresentAndEmpty(t *testing.T) {
	ts := scene{black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}}.make(t)
	for name, c := range map[string]struct {
		segment         []byte
		deadVideo, dead bool
	}{
		"video without a packet":     {without(ts, pidVideo), true, false},
		"sound without a packet":     {without(ts, pidAudio), false, true},
		"video that makes no sense":  {spoilt(ts, pidVideo), true, false},
		"sound that makes no sense":  {spoilt(ts, pidAudio), false, true},
		"both whole, for comparison": {ts, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := analyse(t, c.segment)
			for name, track := range map[string]struct {
				ffmpeg.TrackResult
				dead bool
			}{"video": {got.Video, c.deadVideo}, "audio": {got.Audio, c.dead}} {
				if !track.Present {
					t.Errorf("%s: not present", name)
				}
				if track.dead != (track.To == track.From) {
					t.Errorf("%s: from %v to %v, want dead = %v", name, track.From, track.To, track.dead)
				}
				if !track.dead && (len(track.Found) != 1 || track.Found[0].To != track.To) {
					t.Errorf("%s: bad = %v, want one stretch until %v", name, track.Found, track.To)
				}
			}
		})
	}
}

func TestASegmentThatChangesItsFormatOnTheWay(t *testing.T) {
	first := scene{seconds: 2, offset: 10, black: [][2]float64{{1.5, 9}}, silent: [][2]float64{{1.5, 9}}}
	second := scene{seconds: 2, offset: 12, size: "320x180", layout: "5.1", black: [][2]float64{{0, 0.5}}, silent: [][2]float64{{0, 9}}}

	t.Run("black and silence that go on are one stretch", func(t *testing.T) {
		got := analyse(t, slices.Concat(first.make(t), second.make(t)))
		same(t, "video", got.Video, track{from: lead, to: 4 + lead, bad: [][2]float64{{1.5 + lead, 2.5 + lead}}}, exact)
		same(t, "audio", got.Audio, track{to: 4 + lead, bad: [][2]float64{{1.5 + lead, 4 + lead}}}, audioFrame)
	})
	t.Run("black and silence that do not go on end there", func(t *testing.T) {
		second := second
		second.black, second.silent = nil, nil
		got := analyse(t, slices.Concat(first.make(t), second.make(t)))
		same(t, "video", got.Video, track{from: lead, to: 4 + lead, bad: [][2]float64{{1.5 + lead, 2 + lead}}}, exact)
		// The second encoder's priming is silent too.
		same(t, "audio", got.Audio, track{to: 4 + lead, bad: [][2]float64{{1.5 + lead, 2 + lead}}}, audioFrame)
	})
}

// lead is priming in seconds.
const lead = float64(priming) / float64(time.Second)

func TestFragmentsWithAnInitialisationSection(t *testing.T) {
	init, media := fragments(t,
		"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=6", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=6",
		"-vf", "drawbox=c=black:t=fill:enable='gte(t,2.99)'", "-af", "volume=0:enable='gte(t,3)'",
		"-c:v", "libx264", "-preset", "veryfast", "-g", "60", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2")
	if len(media) < 3 {
		t.Fatalf("%d fragments", len(media))
	}
	got := analyse(t, slices.Concat(init, media[1]))

	// Where the muxer cuts the sound is its own affair, so times are compared
	// with where the track begins.
	if v := got.Video; !v.Present || len(v.Found) != 1 || v.Found[0].To != v.To ||
		(v.To-v.From-2*time.Second).Abs() > exact || (v.Found[0].From-v.From-time.Second).Abs() > exact {
		t.Errorf("video = %+v, want 2 s of which the second is black", v)
	}
	if a := got.Audio; !a.Present || len(a.Found) != 1 || a.Found[0].To != a.To ||
		(a.Found[0].From-got.Video.Found[0].From).Abs() > 2*audioFrame {
		t.Errorf("audio = %+v, want silence from the same moment (%v) to the end", a, got.Video.Found[0].From)
	}
	if min(got.Video.From, got.Audio.From) != 0 {
		t.Errorf("tracks begin at %v and %v, want one at 0", got.Video.From, got.Audio.From)
	}

	t.Run("alone they cannot be decoded", func(t *testing.T) {
		refused(t, media[1], watch.FailureUndecodable)
	})
}

func TestASegmentThatIsCutOffHalfwayIsDecodedAsFarAsItGoes(t *testing.T) {
	ts := scene{silent: [][2]float64{{1, 9}}}.make(t)
	got := analyse(t, ts[:len(ts)/2+77])
	for name, track := range map[string]ffmpeg.TrackResult{"video": got.Video, "audio": got.Audio} {
		if !track.Present || track.To < 500*time.Millisecond || track.To > 2500*time.Millisecond {
			t.Errorf("%s ends at %v, want about half of 3 s", name, track.To)
		}
	}
	if n := len(got.Audio.Found); n != 1 || got.Audio.Found[0].To != got.Audio.To {
		t.Errorf("silence = %v, want one that goes on at %v", got.Audio.Found, got.Audio.To)
	}
}

func TestASegmentThatDoesNotBeginWithAKeyFrame(t *testing.T) {
	const group = 30 // frames, a second
	ts := scene{codec: []string{"-g", "30", "-bf", "2"}, black: [][2]float64{{2.5, 9}}}.make(t)
	// The program tables, then everything from a quarter on: mid-group.
	all := packets(ts)
	cut := slices.Concat(all[0], all[1], all[2], slices.Concat(all[len(all)/4:]...))
	if !strings.HasPrefix(string(cut), "\x47") {
		t.Fatal("the cut is not in step")
	}
	got := analyse(t, cut)
	if got.Video.From > time.Second+exact {
		t.Errorf("the picture begins at %v, want at the next key frame, at most %d frames on", got.Video.From, group)
	}
	if n := len(got.Video.Found); n != 1 || got.Video.Found[0].To != got.Video.To {
		t.Fatalf("black = %v, want one stretch until %v", got.Video.Found, got.Video.To)
	}
	if d := got.Video.To - got.Video.Found[0].From - 500*time.Millisecond; d.Abs() > exact {
		t.Errorf("black lasts %v more than 0.5 s", d)
	}
}
