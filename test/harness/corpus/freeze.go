package corpus

import (
	"fmt"
	"time"
)

// frozen stops the picture in each part: the last frame before it stays.
func (p Picture) frozen(parts ...[2]float64) Picture {
	return p.withFilter("select='not(%s)',fps=%d", frames(parts...), Rate)
}

// patch lays a patch of a colour over the picture. Its place is given by expressions of t, the time.
func (p Picture) patch(x, y string, w, h int, colour string) Picture {
	label := fmt.Sprint(len(p.filters))
	return p.withFilter("null[under%[1]s];color=c=%[2]s:s=%[3]dx%[4]d:r=%[5]d[patch%[1]s];[under%[1]s][patch%[1]s]overlay=x='%[6]s':y='%[7]s':eval=frame:shortest=1",
		label, colour, w, h, Rate, x, y)
}

// rate encodes with a rate in kilobits a second, as a platform's smallest rendition, and a key frame each so many
// seconds.
func rate(kilobits, group int) []string {
	return append(x264("yuv420p", "-g", fmt.Sprint(group*Rate), "-keyint_min", fmt.Sprint(group*Rate)),
		"-crf", "-1", "-preset", "veryfast", "-b:v", fmt.Sprintf("%dk", kilobits), "-maxrate", fmt.Sprintf("%dk", kilobits), "-bufsize", fmt.Sprintf("%dk", 2*kilobits))
}

// stands is a freeze from second 20.4 to 58, and still the picture that moves until second 20.4 and after 58.
var (
	stands = []BadInterval{{Of: "frozen", From: 20.4, To: 58}}
	still  = [2]float64{20.4, 58}
)

// overlaid stands still as a freeze does, with boxes that move.
func overlaid() Picture { return film().frozen(still) }

// freezes are pictures that stand still, and pictures that only look so.
var freezes = []Item{
	{Name: "freeze of a film", Sampled: true, Description: "One frame stays for 37.6 s.", Picture: film().frozen(still), Truth: stands},
	{Name: "freeze of a concert, segments of 5 s", Description: "The same in longer segments.", Segment: 5 * time.Second, Picture: show().frozen(still), Truth: stands},
	{Name: "freeze at 90 kb/s, groups of 5 s", Description: "As a platform encodes 144p.", Segment: 5 * time.Second, Codec: rate(90, 5), Picture: film().frozen(still), Truth: stands},
	{Name: "freeze at 40 kb/s", Description: "The encoder's noise is at its worst.", Codec: rate(40, 2), Picture: show().frozen(still), Truth: stands},
	{Name: "freeze at 250 kb/s", Description: "Much detail.", Codec: rate(250, 2), Picture: crowd().frozen(still), Truth: stands},
	{Name: "freeze in 10-bit HEVC", Description: "Another codec and another depth.", Codec: hevcTenBit, Picture: film().withFormat("yuv420p10le").frozen(still), Truth: stands},
	{Name: "freeze in fragments", Description: "MP4 instead of MPEG-TS.", stream: stream{fragments: true}, Picture: show().frozen(still), Truth: stands},
	{Name: "freeze without sound", Description: "Frozen and silent are two conditions.", Picture: film().frozen(still), Sound: music().muted([2]float64{20.5, 58}),
		Truth: append([]BadInterval{silent(20.5, 58)}, stands...)},
	{Name: "freeze to the end", Description: "No recovery.", Picture: show().frozen([2]float64{30.2, 99}).withFilter("tpad=stop_mode=clone:stop_duration=60"), Truth: []BadInterval{{Of: "frozen", From: 30.2, To: 75}}},

	{Name: "slow film", Sampled: true, Description: "A slow zoom moves.", Picture: film()},
	{Name: "slow film at 40 kb/s", Description: "Slow, and coarsely encoded.", Codec: rate(40, 2), Picture: film()},
	{Name: "a still that never moved", Description: "A picture with the radio's name.", Picture: show().frozen([2]float64{0.04, 99}).withFilter("tpad=stop_mode=clone:stop_duration=90")},
	{Name: "a still from the first frame at 90 kb/s", Description: "The encoder settles for some seconds.", Segment: 5 * time.Second, Codec: rate(90, 5), Picture: crowd().frozen([2]float64{0.04, 99}).withFilter("tpad=stop_mode=clone:stop_duration=90")},
	{Name: "a still from the first frame at 40 kb/s", Description: "The encoder settles for half a minute.", Codec: rate(40, 2), Picture: studio().frozen([2]float64{0.04, 99}).withFilter("tpad=stop_mode=clone:stop_duration=90")},
	{Name: "a clock on a still", Sampled: true, Description: "A digit of 6 by 10 pixels changes each second.", Picture: overlaid().patch("200+mod(floor(t),3)", "12+2*mod(floor(t),4)", 6, 10, "0xf0f0f0")},
	{Name: "a clock on a still at 90 kb/s", Description: "As before.", Codec: rate(90, 5), Segment: 5 * time.Second, Picture: overlaid().patch("200+mod(floor(t),3)", "12+2*mod(floor(t),4)", 6, 10, "0xf0f0f0")},
	{Name: "a chat on a still", Description: "A line comes each 7 s.", Codec: rate(90, 5), Segment: 5 * time.Second, Picture: overlaid().patch("180", "130-8*mod(floor(t/7),12)", 60, 5, "0xe0e0e0").patch("180", "126-16*mod(floor(t/14),6)", 40, 4, "0x80c0ff")},
	{Name: "typing on a still", Description: "A letter of 5 by 7 pixels comes twice a second.", Picture: overlaid().patch("20+5*mod(floor(2*t),40)", "120", 4, 7, "0x202020")},
	{Name: "a word that pulses on a still", Description: "A game is paused.", Picture: overlaid().box("100", "60", 56, 12, "0xffffff").withFilter("drawbox=x=104:y=62:w=48:h=8:c=black@0.6:t=fill:enable='lt(mod(t,2),1)'")},
	{Name: "a spectrum on a still", Description: "Three bars dance to the music.", Picture: overlaid().patch("60", "120-30*abs(sin(3*t))", 10, 20, "0x40ff40").patch("80", "120-30*abs(sin(4*t))", 10, 20, "0x40ff40").patch("100", "120-30*abs(sin(5*t))", 10, 20, "0x40ff40")},
	{Name: "a small head beside slides", Description: "A speaker of 24 by 24 pixels moves a little.", Codec: rate(90, 2), Picture: overlaid().patch("220+3*sin(2*t)", "112+2*sin(3*t)", 24, 24, "0xc09070")},
	{Name: "slides of 8 s", Description: "Each stands still for less than the threshold.", Picture: film().withFilter("fps=1/8,fps=%d", Rate)},
	{Name: "a frame each second", Description: "A slow camera.", Picture: crowd().withFilter("fps=1,fps=%d", Rate)},
	{Name: "a loop of 2 s", Description: "Its key frames are equal, what is between is not.", Picture: crowd().withFilter("loop=-1:50:0"), Codec: rate(90, 2)},
	{Name: "a slow pan", Description: "A quarter of a pixel each frame.", Picture: Picture{source: "mandelbrot=s=768x432:rate=25:maxiter=300:end_scale=0.3,select='eq(n,0)',loop=-1:1:0,setpts=N/25/TB,format=yuv420p,crop=256:144:'mod(t*6,500)':100"}},
	{Name: "a slow fade", Description: "From full to half brightness and back in 40 s.", Picture: overlaid().withFilter("lutyuv=y='val':enable=0,eq=brightness='-0.2+0.2*cos(t*0.157)':eval=frame")},
	{Name: "a dark film", Description: "All below a fifth.", Picture: film().dimmed(0.2)},
}
