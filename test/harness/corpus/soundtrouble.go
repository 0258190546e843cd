package corpus

import (
	"fmt"
	"time"
)

// changed applies filters to a sound in the middle of a clip, from second 20 to 58.
func (s Sound) changed(filter string) Sound {
	return Sound{source: fmt.Sprintf("%s,asplit[before][middle];[before]volume=0:enable='between(t,20,58)'[around];[middle]%s,volume=0:enable='not(between(t,20,58))'[inside];[around][inside]amix=inputs=2:normalize=0",
		s.monoGraph("changed"), filter), stereo: s.stereo}
}

// sides makes two channels of a sound. filter changes the right one from second 20 to 58.
func (s Sound) sides(filter string) Sound {
	s.stereo = "asplit[left][right];[right]" + filter + ":enable='between(t,20,58)'[changed];[left][changed]join=inputs=2:channel_layout=stereo"
	return s
}

// inTheMiddle is a condition from second 20 to 58.
func inTheMiddle(of Condition) []BadInterval { return []BadInterval{{Of: of, From: 20, To: 58}} }

// applause is noise in bursts.
func applause() Sound {
	return Sound{source: fmt.Sprintf("anoisesrc=c=white:a=0.4:r=%d:seed=3,highpass=f=800,tremolo=f=9:d=0.6", SampleRate), stereo: bothSides}
}

// chip is the music of an old game: square waves.
func chip() Sound {
	return Sound{source: fmt.Sprintf("aevalsrc='0.5*sgn(sin(2*PI*(220+110*mod(floor(t*4),4))*t))':s=%d", SampleRate), stereo: bothSides}
}

var pauses = [][2]float64{{3, 7}, {15, 19}, {27, 31}, {39, 43}, {51, 55}, {63, 67}}

// quiets are sounds that are too quiet, and some that are not. The limit is -40 LUFS.
var quiets = []Item{
	{Name: "music lowered by 22 dB", Sampled: true, Description: "Somebody has moved the master fader.", Sound: music().changed("volume=-22dB"), Truth: inTheMiddle("quiet")},
	{Name: "speech lowered by 26 dB, segments of 5 s", Description: "The wrong microphone.", Segment: 5 * time.Second, Sound: speech().changed("volume=-26dB"), Truth: inTheMiddle("quiet")},
	{Name: "chip music lowered by 42 dB", Description: "A game without its sound card.", Sound: chip().changed("volume=-42dB"), Truth: inTheMiddle("quiet")},
	{Name: "applause lowered by 32 dB", Description: "The hall's microphones are down.", Sound: applause().changed("volume=-32dB"), Truth: inTheMiddle("quiet")},

	{Name: "speech with pauses of 4 s in 12", Sampled: true, Description: "The pauses are silent, the speech is not quiet.", Sound: speech(pauses...), Truth: silences(pauses...)},
	{Name: "speech lowered by 10 dB", Description: "Quiet, and still in range.", Sound: speech().changed("volume=-10dB")},
	{Name: "silence in the middle", Description: "That is another condition.", Sound: music().muted([2]float64{20, 58}), Truth: []BadInterval{silent(20, 58)}},
	{Name: "applause", Description: "Noise of a hall.", Sound: applause()},
	{Name: "room tone between songs", Description: "8 s of hiss at -55 dBFS: neither music nor long enough.", Sound: music().muted([2]float64{30, 38}).mixedWith(hiss(-50))},
	{Name: "music that swells", Description: "From -34 to -16 LUFS and back.", Sound: music().withFilter("volume='0.55+0.45*sin(t/3)':eval=frame")},
}

// louds are sounds that are too loud, and some that are not. The limit is -5 LUFS.
var louds = []Item{
	{Name: "a tone of nearly full scale", Sampled: true, Description: "A feedback.", Sound: tone().changed("volume=18dB"), Truth: inTheMiddle("loud")},
	{Name: "music into the limiter", Description: "30 dB too loud, limited.", Sound: music().changed("volume=30dB,alimiter=limit=1:level=0"), Truth: inTheMiddle("loud")},
	{Name: "applause into the limiter, segments of 5 s", Description: "The same noise.", Segment: 5 * time.Second, Sound: applause().changed("volume=24dB,asoftclip=type=hard"), Truth: inTheMiddle("loud")},

	{Name: "a loud master", Sampled: true, Description: "Music as it is sold: limited at -1 dB.", Sound: music().withFilter("volume=9dB,alimiter=limit=0.89:level=0")},
	{Name: "chip music", Description: "Square waves at a quarter of full scale.", Sound: chip().withFilter("volume=-6dB")},
	{Name: "loud speech", Description: "A shout at -1 dB.", Sound: speech().withFilter("volume=4dB,alimiter=limit=0.89:level=0")},
	{Name: "a burst of 4 s", Description: "Shorter than the threshold.", Sound: music().withFilter("volume=30dB:enable='between(t,30,34)'")},
}

// clipped are sounds that are cut at full scale, and some that only come near to it.
var clipped = []Item{
	{Name: "speech 20 dB too loud", Sampled: true, Description: "An input is overdriven.", Sound: speech().changed("volume=22dB,asoftclip=type=hard"), Truth: inTheMiddle("clipped")},
	{Name: "music 24 dB too loud", Description: "The mixer's output is overdriven.", Sound: music().changed("volume=36dB,asoftclip=type=hard"), Truth: inTheMiddle("clipped")},
	{Name: "applause 24 dB too loud, segments of 5 s", Description: "The hall's microphones are overdriven.", Segment: 5 * time.Second, Sound: applause().changed("volume=24dB,asoftclip=type=hard"), Truth: inTheMiddle("clipped")},

	{Name: "music limited at -1 dB", Sampled: true, Description: "A loud master.", Sound: music().withFilter("volume=9dB,alimiter=limit=0.89:level=0")},
	{Name: "speech with peaks of -1 dB", Description: "As it should be.", Sound: speech().withFilter("volume=2dB,alimiter=limit=0.89:level=0")},
	{Name: "square waves at a quarter of full scale", Description: "They look clipped, and are not. At half of it the encoder overshoots full scale.", Sound: chip().withFilter("volume=-6dB")},
	{Name: "a click each 2 s", Description: "One moment of 20 at full scale.", Sound: music().withFilter("volume=40dB:enable='lt(mod(t,2),0.02)'").withFilter("asoftclip=type=hard")},
}

// oneSides are sounds with a channel that is missing or inverted, and stereo.
var oneSides = []Item{
	{Name: "the right channel is missing", Sampled: true, Description: "A cable.", Sound: music().sides("volume=0"), Truth: inTheMiddle("one_sided")},
	{Name: "the right channel hums 40 dB below", Description: "A cable that hums.", Sound: music().sides("volume=-40dB"), Truth: inTheMiddle("one_sided")},
	{Name: "the right channel of speech is missing, segments of 5 s", Description: "As before.", Segment: 5 * time.Second, Sound: speech().sides("volume=0"), Truth: inTheMiddle("one_sided")},
	{Name: "the right channel is inverted", Description: "A plug is wired the wrong way round.", Sound: speech().sides("volume=-1"), Truth: inTheMiddle("one_sided")},

	{Name: "mono", Sampled: true, Description: "Two equal channels.", Sound: speech()},
	{Name: "the right channel is 20 dB lower", Description: "A balance that somebody likes.", Sound: music().sides("volume=-20dB")},
	{Name: "two channels of their own", Description: "Sounds that have nothing in common.", Sound: music().sides("bass=g=-15:f=250")},
	{Name: "both channels are silent", Description: "That is another condition.", Sound: music().muted([2]float64{20, 58}), Truth: []BadInterval{silent(20, 58)}},
}
