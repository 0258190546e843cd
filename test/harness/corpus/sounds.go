package corpus

import "time"

// The pauses of a speaker. The periodic ones have the interval of the checks, so that
// every check may fall into a pause.
var (
	irregularPauses = [][2]float64{{4.3, 6.5}, {8.1, 11.1}, {12.7, 16.7}, {18.2, 20.4}, {22.1, 25.9}, {27.4, 30.4}, {32, 36}, {37.9, 40.1}, {41.6, 45.4}}
	periodicPauses  = [][2]float64{{2, 6}, {7, 11}, {12, 16}, {17, 21}, {22, 26}, {27, 31}, {32, 36}, {37, 41}, {42, 46}}
)

// sounds are silent intervals and sounds of increasing loudness.
var sounds = []Item{
	{
		Name:        "digital silence",
		Description: "Every sample is zero.",
		Sound:       music().muted([2]float64{12.5, 27.2}),
		Truth:       []BadInterval{silent(12.5, 27.2)},
	},
	{
		Name:        "silence for just less than the threshold",
		Description: "9.8 s are not 10 s: no alert.",
		Sound:       music().muted([2]float64{12.5, 22.3}),
		Truth:       []BadInterval{silent(12.5, 22.3)},
	},
	{
		Name:        "silence for just more than the threshold",
		Description: "10.2 s are an alert, and a recovery at once.",
		Sound:       music().muted([2]float64{12.5, 22.7}),
		Truth:       []BadInterval{silent(12.5, 22.7)},
	},
	{
		Name:        "hiss at -60 dB",
		Description: "The microphone is unplugged, and its input hisses at −60 dBFS: silent at the default of −50.",
		Sound:       music().muted([2]float64{12.5, 27.2}).mixedWith(hiss(-60)),
		Truth:       []BadInterval{silent(12.5, 27.2)},
	},
	{
		Name:        "room tone at -45 dB",
		Description: "Nobody speaks in an open studio whose air reaches −45 dBFS, 5 dB over the threshold at its peaks only: not silent.",
		Sound:       music().muted([2]float64{12.5, 27.2}).mixedWith(hiss(-45)),
	},
	{
		Name:        "one channel dead",
		Description: "Sound on the left only: not silent.",
		Length:      24,
		Sound:       music().leftOnly(),
	},
	{
		Name:        "speech with pauses",
		Description: "A slow speaker, with pauses of 2 to 4 s: not one silence.",
		Length:      50,
		Picture:     studio(),
		Sound:       speech(irregularPauses...),
		Truth:       silences(irregularPauses...),
	},
	{
		Name:        "speech with pauses in time with the checks",
		Description: "A second of speech every 5 s: checks every 5 or 10 s may see only pauses, which must not count as one silence.",
		Length:      50,
		Picture:     studio(),
		Sound:       speech(periodicPauses...),
		Truth:       silences(periodicPauses...),
	},
	{
		Name:        "sound that fades out",
		Description: "A tone of −20 dBFS fades out and back within 4 s: silent once it is 30 dB down, after 0.968 of the fade.",
		Sound:       tone().faded(9, 26, 4),
		Truth:       []BadInterval{silent(9+0.968*4, 26+0.032*4).faded(4)},
	},
}

// missingTracks have a track that is missing for a while.
var missingTracks = []Item{
	{
		Name:        "the sound's track vanishes",
		Description: "From one segment on the container has no audio track; later it has it again.",
		Missing:     &MissingTrack{Of: Silent, From: 12, To: 28},
		Truth:       []BadInterval{silent(12, 28)},
	},
	{
		Name:        "the sound's track is empty",
		Description: "The container announces an audio track in which there is nothing.",
		Missing:     &MissingTrack{Of: Silent, From: 12, To: 28, Announced: true},
		Truth:       []BadInterval{silent(12, 28)},
	},
	{
		Name:        "the sound's track is empty all along",
		Description: "Announced, and never a packet.",
		Length:      30,
		Missing:     &MissingTrack{Of: Silent, From: 0, To: 30, Announced: true},
		Truth:       []BadInterval{silent(0, 30)},
	},
	{
		Name:        "the sound's track vanishes for good",
		Description: "In segments of 5 s, to the end.",
		Length:      45,
		Segment:     5 * time.Second,
		Missing:     &MissingTrack{Of: Silent, From: 15, To: 45},
		Truth:       []BadInterval{silent(15, 45)},
	},
	{
		Name:        "the picture's track vanishes",
		Description: "From one segment on there is sound only; later there is a picture again.",
		Missing:     &MissingTrack{Of: Black, From: 12, To: 28},
		Truth:       []BadInterval{black(12, 28)},
	},
	{
		Name:        "the picture's track is empty",
		Description: "The container announces a video track in which there is nothing.",
		Missing:     &MissingTrack{Of: Black, From: 12, To: 28, Announced: true},
		Truth:       []BadInterval{black(12, 28)},
	},
}

// combined have several bad intervals, at once or in a row.
var combined = []Item{
	{
		Name:        "black and silent at once",
		Description: "The encoder's input is pulled out: both go, and both come back.",
		Picture:     film().black([2]float64{12.52, 27.16}),
		Sound:       music().muted([2]float64{12.5, 27.2}),
		Truth:       []BadInterval{black(12.52, 27.16), silent(12.5, 27.2)},
	},
	{
		Name:        "a bad evening",
		Description: "Black twice and silent twice, sometimes too short for an alert.",
		Length:      90,
		Picture:     crowd().black([2]float64{12.52, 24.16}, [2]float64{34.2, 40.4}, [2]float64{52.6, 68.8}),
		Sound:       music().muted([2]float64{20.3, 33.1}, [2]float64{44.5, 48.5}, [2]float64{62.2, 78.6}),
		Truth: []BadInterval{
			black(12.52, 24.16), black(34.2, 40.4), black(52.6, 68.8),
			silent(20.3, 33.1), silent(44.5, 48.5), silent(62.2, 78.6),
		},
	},
}
