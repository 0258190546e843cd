package ffmpeg_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The luma of black is at most a tenth of its range, which is 16 to 235, in 98 % of the
// picture (section 6.3).
func TestDarkPicturesAreBlack(t *testing.T) {
	for name, c := range map[string]struct {
		luma  int
		box   string // white
		black bool
	}{
		"a little darker than a tenth":   {36, "16x16", true},
		"a little brighter than a tenth": {40, "16x16", false},
		"white in 1.4 % of the picture":  {16, "32x16", true},
		"white in 2.8 % of the picture":  {16, "32x32", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, _ := strings.Cut(c.box, "x")
			got := analyse(t, encode(t, "-f", "lavfi", "-i", "color=s=256x144:r=30:d=1",
				"-vf", fmt.Sprintf("geq=lum=%d:cb=128:cr=128,drawbox=x=0:y=0:w=%s:h=%s:c=white:t=fill", c.luma, w, h),
				"-c:v", "libx264", "-qp", "1", "-pix_fmt", "yuv420p", "-f", "mpegts"))
			if black := len(got.Video.Found) == 1; black != c.black {
				t.Errorf("black = %v, want %v", got.Video.Found, c.black)
			}
		})
	}
}

func TestTheSettingDecidesWhatIsSilence(t *testing.T) {
	ts := scene{volume: -26}.make(t) // a tone of -47 dBFS
	for silenceDB, silent := range map[float64]bool{-45.5: true, -48.5: false} {
		got, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(ts), func(string) float64 { return silenceDB })
		_, audio := ffmpeg.Results(got)
		if err != nil || (len(audio.Found) == 1) != silent {
			t.Errorf("below %g dBFS: silence = %v, %v; want %v", silenceDB, audio.Found, err, silent)
		}
	}
}
