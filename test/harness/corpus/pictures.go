package corpus

import "time"

// cutsAndFades are black intervals of various lengths.
var cutsAndFades = []Item{
	{
		Name:        "cut to black",
		Description: "The picture is cut to black and back, nowhere near a boundary of segments.",
		Picture:     studio().black([2]float64{12.52, 27.16}),
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "cut to black, segments of 5 s",
		Description: "The same in segments as long as YouTube's ordinary ones.",
		Length:      45,
		Picture:     film().black([2]float64{13.44, 30.72}),
		Segment:     5 * time.Second,
		Truth:       []BadInterval{black(13.44, 30.72)},
	},
	{
		Name:        "black for just less than the threshold",
		Description: "9.8 s are not 10 s: no alert.",
		Picture:     film().black([2]float64{12.52, 22.32}),
		Truth:       []BadInterval{black(12.52, 22.32)},
	},
	{
		Name:        "black for just more than the threshold",
		Description: "10.2 s are an alert, and a recovery at once.",
		Picture:     film().black([2]float64{12.52, 22.72}),
		Truth:       []BadInterval{black(12.52, 22.72)},
	},
	{
		Name:        "black far shorter than the threshold",
		Description: "Three seconds between two programmes, a second before the news.",
		Picture:     show().black([2]float64{12.2, 15.2}, [2]float64{22.6, 23.6}),
		Truth:       []BadInterval{black(12.2, 15.2), black(22.6, 23.6)},
	},
	{
		Name:        "black at the very start",
		Description: "The stream begins black. What was before the watch is not known to it.",
		Picture:     crowd().black([2]float64{-1, 24.36}),
		Truth:       []BadInterval{black(0, 24.36)},
	},
	{
		Name:        "black to the very end",
		Description: "The stream ends black: an alert, and no recovery after it.",
		Length:      40,
		Picture:     crowd().black([2]float64{16.28, 99}),
		Truth:       []BadInterval{black(16.28, 40)},
	},
	{
		Name:        "fade of 2 s",
		Description: "Black from nine tenths of the fade out to one tenth of the fade back.",
		Picture:     studio().faded(11.2, 27.4, 2),
		Truth:       []BadInterval{black(13, 27.6).faded(2)},
	},
	{
		Name:        "fade of 8 s",
		Description: "As that of 2 s; longer than the distance of the checks.",
		Length:      50,
		Picture:     studio().faded(6, 28, 8),
		Truth:       []BadInterval{black(13.2, 28.8).faded(8)},
	},
	{
		Name:        "fade of 4 s, segments of 5 s",
		Description: "As that of 2 s; segments in which nothing is quite black nor quite there.",
		Length:      45,
		Picture:     studio().faded(10, 28, 4),
		Segment:     5 * time.Second,
		Truth:       []BadInterval{black(13.6, 28.4).faded(4)},
	},
}

// darkScenes lists dark pictures, some with bright spots.
var darkScenes = []Item{
	{
		Name:        "night, 13 %",
		Description: "A night scene whose brightest tenth is at 13 %, everything else below: just not black.",
		Length:      24,
		Picture:     studio().dimmed(0.13).grained(4),
		Sound:       speech(),
	},
	{
		Name:        "night with lamps",
		Description: "All below 7 % but for lamps that are 4 % of the picture: not black.",
		Length:      24,
		Picture:     studio().dimmed(0.07).box("40", "30", 24, 16, "0xffd080").patch("150+20*sin(t)", "50", 20, 28, "0xd0d0ff").box("200", "100", 32, 18, "0xffffff").grained(5),
		Sound:       speech(),
	},
	{
		Name:        "black with a small logo",
		Description: "The station's logo, 1.3 % of the picture, stays on the black: black by pic_th, and an alert.",
		Picture:     film().black([2]float64{12.52, 27.16}).box("220", "12", 24, 20, "0xf0f0f0"),
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "black with a lower third",
		Description: "A bar with a name, 6 % of the picture, stays on the black: not black by pic_th. Viewers get a message.",
		Picture:     film().black([2]float64{12.52, 27.16}).box("12", "112", 120, 18, "0x3060c0"),
	},
	{
		Name:        "windowbox around the dark",
		Description: "Bars on all sides, nearly two thirds of the picture, around a dark scene whose brightest parts are at 20 %.",
		Length:      24,
		Picture: studio().withFilter("scale=152:86,lutyuv=y='16+(val-16)*0.2':u='128+(val-128)*0.2':v='128+(val-128)*0.2',pad=%d:%d:52:29:black", Width, Height).
			grained(3),
		Sound: speech(),
	},
	{
		Name:        "a flash in the black",
		Description: "8 s of black, one white frame, 8 s of black: neither of them is 10 s.",
		Picture:     film().black([2]float64{12.52, 28.56}).flashes(20.52),
		Truth:       []BadInterval{black(12.52, 20.52), black(20.56, 28.56)},
	},
	{
		Name:        "grain in the black",
		Description: "A camera with its lens closed: grain, all of it below 10 %.",
		Picture:     film().black([2]float64{12.52, 27.16}).grained(9),
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
}

// formats is how black and dark are written.
var formats = []Item{
	{
		Name:        "full range",
		Description: "Black is 0, and the stream says so.",
		Picture:     film().withFormat("yuvj420p").darkened(0, [2]float64{12.52, 27.16}),
		Codec:       h264full,
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "full range, grey below 10 %",
		Description: "24 of 255 in full range is 9.4 %: black.",
		Picture:     film().withFormat("yuvj420p").darkened(24, [2]float64{12.52, 27.16}),
		Codec:       h264full,
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "full range, grey above 10 %",
		Description: "30 of 255 in full range is 11.8 %: not black, though it would be in limited range.",
		Picture:     film().withFormat("yuvj420p").darkened(30, [2]float64{12.52, 27.16}),
		Codec:       h264full,
	},
	{
		Name:        "full range that is not flagged",
		Description: "Black is 0 in a stream that says nothing of its range: blacker than black.",
		Picture:     film().withFilter("lutyuv=y='(val-16)*255/219'").darkened(0, [2]float64{12.52, 27.16}),
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "limited range that is flagged as full",
		Description: "Black is 16 in a stream that says it is full range, 6 % of it: grey on the screen, and still black.",
		Picture:     film().black([2]float64{12.52, 27.16}),
		Codec:       h264FlaggedFull,
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "limited range, grey below 10 %",
		Description: "35 of 16 to 235 is 8.7 %: black.",
		Picture:     film().darkened(35, [2]float64{12.52, 27.16}),
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "limited range, grey above 10 %",
		Description: "40 of 16 to 235 is 11 %: not black.",
		Picture:     film().darkened(40, [2]float64{12.52, 27.16}),
	},
	{
		Name:        "10-bit H.264",
		Description: "Black is 64 of 1023.",
		Picture:     film().withFormat("yuv420p10le").darkened(64, [2]float64{12.52, 27.16}),
		Codec:       h264TenBit,
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "10-bit HEVC",
		Description: "The same in the codec that most 10-bit streams have.",
		Picture:     film().withFormat("yuv420p10le").darkened(64, [2]float64{12.52, 27.16}),
		Codec:       hevcTenBit,
		Truth:       []BadInterval{black(12.52, 27.16)},
	},
	{
		Name:        "10-bit H.264, grey above 10 %",
		Description: "160 of 64 to 940 is 11 %: not black.",
		Picture:     film().withFormat("yuv420p10le").darkened(160, [2]float64{12.52, 27.16}),
		Codec:       h264TenBit,
	},
}
