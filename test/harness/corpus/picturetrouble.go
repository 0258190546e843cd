package corpus

import (
	"fmt"
	"strings"
	"time"
)

// shows lays another source over the picture from second 20 to 58.
func (p Picture) shows(source string) Picture {
	separator := "="
	if strings.Contains(source, "=") {
		separator = ":"
	}
	source += separator
	return p.withFilter("null[below];%ss=%dx%d:r=%d,format=yuv420p[above];[below][above]overlay=enable='between(t,20,58)':shortest=1", source, Width, Height, Rate)
}

// testPatterns are colour bars and tones, and pictures that are as colourful.
var testPatterns = []Item{
	{Name: "bars of SMPTE", Sampled: true, Description: "A source is missing.", Picture: film().shows("smptebars"), Truth: inTheMiddle("test_pattern")},
	{Name: "bars of SMPTE for HD, segments of 5 s", Description: "RP 219, as in ARIB.", Segment: 5 * time.Second, Picture: film().shows("smptehdbars"), Truth: inTheMiddle("test_pattern")},
	{Name: "bars of the EBU at 40 kb/s", Description: "75 %.", Codec: rate(40, 2), Picture: show().shows("pal75bars"), Truth: inTheMiddle("test_pattern")},
	{Name: "bars of the EBU, 100 %, in 10-bit HEVC", Description: "Another codec and another depth.", Codec: hevcTenBit, Picture: film().shows("pal100bars").withFilter("format=yuv420p10le"), Truth: inTheMiddle("test_pattern")},
	{Name: "bars with a logo and a clock", Description: "The station's own.", Picture: film().shows("smptebars").box("20", "20", 40, 24, "0xffffff").patch("120+mod(floor(t),3)", "60", 40, 16, "0x101010"), Truth: inTheMiddle("test_pattern")},
	{Name: "half as bright bars", Description: "Through a camera.", Picture: film().shows("smptebars").withFilter("lutyuv=y='16+(val-16)*if(1,0.6)':enable='between(t,20,58)'").grained(6), Truth: inTheMiddle("test_pattern")},
	{Name: "a tone of 1 kHz", Description: "The picture is the programme.", Sound: speech().changed("volume=0,aeval='0.1*sin(2*PI*1000*t)'"), Truth: inTheMiddle("test_pattern")},
	{Name: "bars and tone", Description: "Both.", Picture: film().shows("smptebars"), Sound: speech().changed("volume=0,aeval='0.1*sin(2*PI*1000*t)'"), Truth: inTheMiddle("test_pattern")},

	{Name: "a moving test picture", Sampled: true, Description: "Stripes of all colours, in another order.", Picture: studio()},
	{Name: "a rainbow", Description: "Colours in the order of their hue.", Picture: film().shows("gradients=nb_colors=7:x0=0:y0=0:x1=255:y1=0:speed=0.00001:c0=red:c1=orange:c2=yellow:c3=green:c4=cyan:c5=blue:c6=magenta")},
	{Name: "the flag of a nation", Description: "Three stripes.", Picture: film().shows("color=c=0x0050c0").box("86", "0", 85, Height, "0xffffff").box("171", "0", 85, Height, "0xe02030")},
	{Name: "a colour spectrum", Description: "A palette.", Picture: film().shows("colorspectrum")},
	{Name: "a concert in many colours", Description: "Lights.", Picture: show(), Sound: music()},
	{Name: "beeps of 1 kHz", Description: "The time signal.", Sound: speech().mixedWith(Sound{source: fmt.Sprintf("sine=f=1000:r=%d,volume=0:enable='gt(mod(t,5),0.5)'", SampleRate), stereo: bothSides})},
	{Name: "a tone of 880 Hz", Description: "A synthesizer holds a note.", Sound: Sound{source: fmt.Sprintf("sine=f=880:r=%d", SampleRate), stereo: bothSides}},
}

// damages are pictures whose packets were lost, and whole ones.
var damages = []Item{
	{Name: "each 25th packet is lost", Sampled: true, Description: "A broken packager.", Picture: film(), Lost: [2]float64{20, 58}, Truth: inTheMiddle("picture_damage")},
	{Name: "each 25th packet is lost, segments of 5 s", Description: "As before.", Segment: 5 * time.Second, Picture: crowd(), Lost: [2]float64{20, 60}, Truth: []BadInterval{{Of: "picture_damage", From: 20, To: 60}}},
	{Name: "a whole film", Sampled: true, Description: "Nothing is lost.", Picture: film()},
	{Name: "a crowd at 40 kb/s", Description: "Blocks, and no damage.", Codec: rate(40, 2), Picture: crowd()},
	{Name: "one damaged segment", Description: "Shorter than the threshold.", Picture: film(), Lost: [2]float64{30, 32}},
}

// captioned are pictures with captions in their packets, in fragments of MP4. The further clips have them in MPEG-TS.
var captioned = []Item{
	{Name: "captions that stop, in fragments", Sampled: true, Description: "What writes them is gone.", Truth: inTheMiddle("captions_missing"),
		Codec: captionable, Picture: film().withFilter("fps=%d", captionRate), stream: stream{fragments: true, captions: captions{"text": {{0, 20}, {58, 75}}, "empty": {{20, 30}}}}},
	{Name: "captions in fragments", Description: "As wanted.",
		Codec: captionable, Picture: film().withFilter("fps=%d", captionRate), stream: stream{fragments: true, captions: captions{"text": {{0, 75}}}}},
}

// captionable is H.264 with pictures in the order in which they are shown.
var captionable = x264("yuv420p", "-g", fmt.Sprint(captionRate), "-keyint_min", fmt.Sprint(captionRate), "-bf", "0")
