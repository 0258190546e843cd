package corpus

import (
	"cmp"
	_ "embed" // of the clips
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

//go:embed testdata/further.json
var furtherClips []byte

// Further lists the clips of testdata/further.json, which were described without a look at the detectors.
// known has the reasons why some are judged otherwise, by name, or by "PRESET: NAME" where a preset judges
// not as the defaults do. Their Truth is what lasts for longer than the default threshold of their
// detector. It panics if the file is wrong.
func Further() (all []Item, known map[string]string) {
	var file struct {
		About  []string
		Known  map[string]string
		Scenes map[string]string
		Clips  []furtherClip
	}
	decoder := json.NewDecoder(strings.NewReader(string(furtherClips)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		panic(fmt.Sprintf("corpus: further.json: %v", err))
	}
	var scenes []string
	for name, graph := range file.Scenes {
		scenes = append(scenes, "{"+name+"}", graph)
	}
	for _, c := range file.Clips {
		all = append(all, c.item(strings.NewReplacer(scenes...)))
	}
	return all, file.Known
}

// furtherClip is a clip in further.json. The file says what its fields mean.
type furtherClip struct {
	Name, Why, Picture, Sound string
	Length, From, To          float64
	Codec, Packets            string
	GOP, Segment, Kbps        int
	Lost                      [2]float64
	Captions                  captions
	Start                     float64
	References                []struct {
		Picture    string
		Unwanted   detector.Unwanted
		Similarity float64
	}
}

func (c furtherClip) item(scenes *strings.Replacer) Item {
	i := Item{
		Name: c.Name, Description: c.Why, Length: c.Length, Lost: c.Lost,
		Picture: Picture{source: scenes.Replace(c.Picture)},
		Sound:   Sound{source: scenes.Replace(c.Sound), stereo: "anull"},
		Segment: time.Duration(cmp.Or(c.Segment, 2)) * time.Second,
		stream:  stream{captions: c.Captions}, Defaults: true, Start: c.Start,
	}
	for _, r := range c.References {
		i.References = append(i.References, Reference{Picture{source: scenes.Replace(r.Picture)}, r.Unwanted, r.Similarity})
	}
	name, _, _ := strings.Cut(c.Name, ":")
	for _, d := range detector.Optional() {
		if string(d.Name) == name {
			i.Runs = []detector.Name{d.Name}
			if c.To > 0 {
				i.Truth = []BadInterval{{Of: d.Condition, From: c.From, To: c.To}}
			}
		}
	}
	i.Codec = c.encoder()
	i.stream.fragments = c.Codec == "vp9" || c.Codec == "av1"
	i.stream.opus = i.stream.fragments
	return i
}

// encoder returns ffmpeg's arguments for the picture. Key frames are forced by time, because the frame
// rate may vary, except in AV1, whose encoder does not obey.
func (c furtherClip) encoder() (args []string) {
	frames := "2"
	if c.Captions != nil {
		frames = "0" // withCaptions needs them in the order in which they are shown
	}
	group := cmp.Or(c.GOP, 2)
	if c.Codec == "av1" {
		args = []string{"-c:v", "libsvtav1", "-preset", "12", "-svtav1-params", "lp=1", "-g", strconv.Itoa(group * Rate)}
	} else {
		args = []string{"-force_key_frames", fmt.Sprintf("expr:gte(t,n_forced*%d)", group), "-g", "1000"}
	}
	switch c.Codec {
	case "hevc":
		args = append(args, "-c:v", "libx265", "-preset", "ultrafast", "-forced-idr", "1",
			"-x265-params", "log-level=none:scenecut=0:open-gop=0:pools=none:frame-threads=1:bframes="+frames)
	case "vp9":
		args = append(args, "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-threads", "1")
	case "":
		args = append(args, "-c:v", "libx264", "-preset", "ultrafast", "-forced-idr", "1", "-sc_threshold", "0", "-bf", frames, "-threads", "1")
	}
	args = append(args, "-pix_fmt", "yuv420p", "-b:v", fmt.Sprintf("%dk", cmp.Or(c.Kbps, 150)))
	if c.Packets != "" {
		args = append(args, "-bsf:v", c.Packets)
	}
	return args
}
