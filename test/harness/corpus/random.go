package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// stream is how an item's tracks reach the player. The zero value is that of most items.
type stream struct {
	opus      bool          // in place of AAC
	fragments bool          // MP4 fragments in place of MPEG-TS
	late      time.Duration // by which the sound begins after the picture
	offset    time.Duration // of all timestamps
	captions  captions      // in the picture's packets
	splice    int           // the segment in which the timestamps jump to those of the first one; 0: none
}

// cacheKey returns the part of a clip's cache name for its stream.
func (s stream) cacheKey() string {
	if s.captions != nil && s.fragments {
		return fmt.Sprint(s.captions, s.fragments)
	}
	if s.captions != nil {
		return fmt.Sprint(s.captions)
	}
	if !s.fragments && s.late == 0 && s.offset == 0 {
		return "" // the rest is in the arguments, or no part of the file
	}
	return fmt.Sprintf("{Fragments:%v Late:%v Offset:%v}", s.fragments, s.late, s.offset)
}

// Random returns an item that is black and silent at random instants, in a random
// encoding. Most have H.264 and AAC in MPEG-TS. Groups of pictures have one frame to 10 s,
// and may be open. The sound may begin late; timestamps may be large, wrap or jump. The same
// seed makes the same item. It has no Truth, and serves to compare two ways of analysis.
func Random(seed uint64) Item {
	r := rand.New(rand.NewPCG(seed, 17))
	i := Item{Length: float64(30 + r.IntN(15)), Segment: time.Duration(2+r.IntN(5)) * time.Second}
	black, silent := randomParts(r, i.Length), randomParts(r, i.Length)
	if r.IntN(3) == 0 {
		silent = black // as when the source is lost
	}
	i.Picture = []Picture{studio(), show(), crowd(), studio().dimmed(0.3)}[r.IntN(4)].darkened(16+r.IntN(12), black...)
	i.Sound = []Sound{music(), speech(), tone(), hiss(-20)}[r.IntN(4)].muted(silent...)
	group := []int{1, 25, 25, 50, 50, 50, 75, 100, 125, 250}[r.IntN(10)]
	i.Segment = max(i.Segment, time.Duration(group/Rate)*time.Second) // it begins with a key frame
	var kind string
	i.Codec, i.stream, kind = randomEncoding(r, group)
	shape := ""
	switch r.IntN(8) {
	case 0:
		i.stream.late = time.Duration(100+r.IntN(1500)) * time.Millisecond
		shape = fmt.Sprintf(", sound %v late", i.stream.late)
	case 1:
		i.stream.offset = time.Duration(r.IntN(90_000)) * time.Second
		shape = fmt.Sprintf(", timestamps from %v", i.stream.offset)
	case 2:
		if !i.stream.fragments {
			i.stream.splice = 1 + r.IntN(3)
			shape = fmt.Sprintf(", timestamps jump in segment %d", i.stream.splice)
		}
	case 3:
		if !i.stream.fragments { // the timestamps of MPEG-TS have 33 bits
			i.stream.offset = 95_443*time.Second - time.Duration(r.IntN(30_000))*time.Millisecond
			shape = ", timestamps wrap"
		}
	}
	i.Name = fmt.Sprintf("random %d", seed)
	i.Description = fmt.Sprintf("%s, a key frame every %d frames, segments of %v%s; black %.2f, silent %.2f", kind, group, i.Segment, shape, black, silent)
	return i
}

// randomEncoding returns a codec and how the tracks reach the player, with a name for both.
func randomEncoding(r *rand.Rand, group int) ([]string, stream, string) {
	every := strconv.Itoa(group)
	h264 := func(more ...string) []string {
		return append([]string{
			"-c:v", "libx264", "-preset", "ultrafast", "-crf", "30", "-pix_fmt", "yuv420p", "-g", every, "-keyint_min", every,
			"-sc_threshold", "0", "-threads", "1",
		}, more...)
	}
	vp9 := []string{
		"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "300k",
		"-pix_fmt", "yuv420p", "-g", every, "-keyint_min", every, "-threads", "1",
	}
	hevc := []string{
		"-c:v", "libx265", "-preset", "ultrafast", "-crf", "30", "-pix_fmt", "yuv420p",
		"-x265-params", "log-level=none:scenecut=0:open-gop=0:bframes=2:pools=none:frame-threads=1:keyint=" + every + ":min-keyint=" + every,
	}
	switch n := r.IntN(20); {
	case n < 7:
		return h264("-bf", "0"), stream{}, "H.264 and AAC in MPEG-TS"
	case n < 12:
		return h264("-bf", "3"), stream{}, "H.264 with B frames and AAC in MPEG-TS"
	case n < 15:
		return h264("-bf", "3", "-x264-params", "open-gop=1"), stream{}, "H.264 with open groups of pictures and AAC in MPEG-TS"
	case n < 17:
		return h264("-bf", "2"), stream{fragments: true}, "H.264 and AAC in MP4"
	case n < 18:
		return hevc, stream{}, "HEVC and AAC in MPEG-TS"
	case n < 19:
		return hevc, stream{fragments: true, opus: true}, "HEVC and Opus in MP4"
	}
	return vp9, stream{fragments: true, opus: true}, "VP9 and Opus in MP4"
}

// randomParts returns up to three parts of a clip, in order: of half a second, of seconds,
// or of more than the threshold.
func randomParts(r *rand.Rand, length float64) (parts [][2]float64) {
	at := r.Float64() * 12
	for range r.IntN(4) {
		long := []float64{0.1 + r.Float64(), 1 + 8*r.Float64(), 10.5 + 12*r.Float64()}[r.IntN(3)]
		if at >= length {
			break
		}
		parts = append(parts, [2]float64{round(at), round(at + long)})
		at += long + 0.1 + 6*r.Float64()
	}
	return parts
}

// round keeps the milliseconds of a time in seconds.
func round(s float64) float64 { return float64(int(s*1000)) / 1000 }

// spliced appends the first segment to the one at an index, so that timestamps jump back in it.
func spliced(all []Segment, at int) []Segment {
	if at <= 0 || at >= len(all) {
		return all
	}
	all = slices.Clone(all)
	all[at].Bytes = slices.Concat(all[at].Bytes, all[0].Bytes)
	return all
}
