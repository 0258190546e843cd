package corpus

import (
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// slate is a picture that was prepared for a break: a background, a logo, lines and a title. The letters of the
// title differ by their seed.
type slate struct {
	background, logo, title string // colours
	letters, seed           int
	height                  int // of the letters, in pixels
}

// The slates of a station. Several differ by their title or their colour alone.
var (
	startingSoon = slate{"0x183868", "0x90a8d0", "0xe8e8e8", 12, 1, 40}
	comingBack   = slate{"0x183868", "0x90a8d0", "0xe8e8e8", 9, 5, 40}
	smallTitle   = slate{"0x183868", "0x90a8d0", "0xe8e8e8", 12, 1, 10}
	smallOther   = slate{"0x183868", "0x90a8d0", "0xe8e8e8", 9, 5, 10}
	inGreen      = slate{"0x20a040", "0xa8e0a8", "0xe8e8e8", 12, 1, 40}
	inRed        = slate{"0x802850", "0xd0a0b0", "0xe8e8e8", 12, 1, 40} // about as light as the blue one
	dark         = slate{"0x0c0c0c", "0x505050", "0xd0d0d0", 12, 3, 16}
	otherDark    = slate{"0x0c0c0c", "0x505050", "0xd0d0d0", 6, 8, 24}
	nearlyBlack  = slate{"0x0c0c0c", "0x0c0c0c", "0xe0e0e0", 7, 3, 10} // its letters are less than 2 %
)

// graph returns the slate as chains of filters.
func (s slate) graph() string {
	boxes := []string{fmt.Sprintf("color=c=%s:s=%dx%d:r=%d", s.background, Width, Height, Rate)}
	box := func(x, y, w, h int, colour string) {
		boxes = append(boxes, fmt.Sprintf("drawbox=x=%d:y=%d:w=%d:h=%d:c=%s:t=fill", x, y, w, h, colour))
	}
	box(96, 20, 64, 36, s.logo)
	box(108, 28, 20, 20, s.background)
	if s.logo != s.background {
		box(0, 124, Width, 4, s.logo)
	}
	left := (Width - s.letters*16) / 2
	for n := range s.letters {
		x, shape := left+n*16, (n*7+s.seed*3)%5
		box(x, 70, 4, s.height, s.title) // a stem, and one or two arms
		box(x, 70+shape*s.height/5, 12, max(3, s.height/6), s.title)
		if (n+s.seed)%3 > 0 {
			box(x+8, 70+s.height/3, 4, s.height*2/3, s.title)
		}
	}
	return strings.Join(boxes, ",")
}

// picture returns the slate as the source of a picture.
func (s slate) picture() Picture { return Picture{source: s.graph()} }

// slated shows a picture instead of the programme between two seconds.
func (p Picture) slated(slate Picture, from, to float64) Picture {
	label := fmt.Sprint(len(p.filters))
	return p.withFilter("null[below%[1]s];%[2]s[above%[1]s];[below%[1]s][above%[1]s]overlay=enable='gte(t,%[3]g)*lt(t,%[4]g)':shortest=1",
		label, slate.filterGraph(), from-0.5/Rate, to-0.5/Rate)
}

// onAir shows a slate from second 20 to 58.
func onAir(s Picture) Picture { return film().slated(s, 20, 58) }

// uploaded are references with the usual values.
func uploaded(all ...slate) (list []Reference) {
	for _, s := range all {
		list = append(list, Reference{Picture: s.picture()})
	}
	return list
}

// slates show references at the wrong time, references at the right time, and other pictures.
var slates = []Item{
	{Name: "a slate", Sampled: true, Description: "The switcher is back on the slate.", Picture: onAir(startingSoon.picture()), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate at 90 kb/s, segments of 5 s", Description: "As a platform encodes 144p.", Segment: 5 * time.Second, Codec: rate(90, 5), Picture: onAir(startingSoon.picture()), References: uploaded(comingBack, startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate dimmed to 80 %", Description: "Through another path.", Picture: onAir(startingSoon.picture().dimmed(0.8)), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate dimmed to 50 %, at 40 kb/s", Description: "With noise.", Codec: rate(40, 2), Picture: onAir(startingSoon.picture().dimmed(0.5).grained(8)), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate with a countdown", Description: "Two digits change each second.", Codec: rate(90, 2), Picture: onAir(startingSoon.picture().patch("112+mod(floor(t),4)", "104", 8, 12, "0xffffff").patch("126", "102+mod(floor(t),5)", 8, 12, "0xffffff")), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate with particles", Description: "Specks drift over it.", Picture: onAir(startingSoon.picture().patch("mod(20*t,256)", "30", 5, 5, "0xc0c0c0").patch("mod(90+13*t,256)", "70", 4, 4, "0xc0c0c0").patch("mod(190+17*t,256)", "110", 5, 5, "0xc0c0c0").grained(12)), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a slate in 10-bit HEVC", Description: "Another codec and another depth.", Codec: hevcTenBit, Picture: onAir(startingSoon.picture()).withFilter("format=yuv420p10le"), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a green slate in BT.709", Description: "The colours of another matrix.", Picture: onAir(inGreen.picture().withFilter("scale=out_color_matrix=bt709")), References: uploaded(inGreen), Truth: inTheMiddle("slate")},
	{Name: "a slate that is faded in and out", Description: "Within a second.", Picture: film().faded(19, 58, 1).slated(startingSoon.picture().withFilter("fade=t=in:st=20:d=1,fade=t=out:st=57:d=1"), 20, 58), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "a dark slate", Sampled: true, Description: "Grey on black.", Picture: onAir(dark.picture()), References: uploaded(dark, otherDark), Truth: inTheMiddle("slate")},
	{Name: "a slate that is black, too", Description: "Its letters are less than 2 % of it: black by pic_th, and the slate.", Picture: onAir(nearlyBlack.picture()), References: uploaded(nearlyBlack), Truth: append([]BadInterval{black(20, 58)}, inTheMiddle("slate")...)},
	{Name: "another title, and any is to be found", Description: "The author has set 0.85.", Picture: onAir(smallOther.picture()), References: []Reference{{Picture: smallTitle.picture(), Similarity: 0.85}}, Truth: inTheMiddle("slate")},
	{Name: "a slate that stays after the scheduled start", Description: "It was wanted until second 20.", Start: 20, Picture: film().slated(startingSoon.picture(), -1, 58), References: uploaded(startingSoon), Truth: inTheMiddle("slate")},
	{Name: "the slate of the end before the start", Description: "Unwanted until second 30.", Start: 30, Picture: film().slated(comingBack.picture(), -1, 58), References: []Reference{{Picture: comingBack.picture(), Unwanted: detector.BeforeStart}}, Truth: []BadInterval{{Of: "slate", From: 0, To: 30}}},

	{Name: "another title on the same slate", Sampled: true, Description: "The slate of a planned break, which nobody has uploaded.", Picture: onAir(smallOther.picture()), References: uploaded(smallTitle)},
	{Name: "another title at 40 kb/s", Description: "As before.", Codec: rate(40, 2), Picture: onAir(smallOther.picture().grained(4)), References: uploaded(smallTitle)},
	{Name: "the same slate in another colour", Description: "Its luma is the same.", Picture: onAir(inRed.picture()), References: uploaded(startingSoon)},
	{Name: "another dark slate", Description: "Grey on black, as the reference.", Picture: onAir(otherDark.picture()), References: uploaded(dark, nearlyBlack)},
	{Name: "a black picture and a dark reference", Description: "Black, and no slate.", Picture: film().black([2]float64{20, 58}), References: uploaded(nearlyBlack, dark), Truth: []BadInterval{black(20, 58)}},
	{Name: "a film and all references", Sampled: true, Description: "Nothing looks like them.", Picture: film(), References: uploaded(startingSoon, comingBack, inGreen, inRed, dark, otherDark, nearlyBlack)},
	{Name: "a concert and all references", Description: "As before.", Picture: show(), References: uploaded(startingSoon, comingBack, inGreen, inRed, dark, otherDark, nearlyBlack)},
	{Name: "a dark film and all references", Description: "As before.", Picture: film().dimmed(0.2), References: uploaded(startingSoon, comingBack, inGreen, inRed, dark, otherDark, nearlyBlack)},
	{Name: "a slate before the scheduled start", Description: "It is wanted until then.", Start: 50, Picture: film().slated(startingSoon.picture(), -1, 48), References: uploaded(startingSoon)},
	{Name: "a slate before the programme", Description: "No start is scheduled: it is wanted until something else was seen.", Picture: film().slated(startingSoon.picture(), -1, 48), References: uploaded(startingSoon)},
	{Name: "a slate after the programme, wanted", Description: "That of the end is unwanted before the start alone.", Start: 5, Picture: onAir(comingBack.picture()), References: []Reference{{Picture: comingBack.picture(), Unwanted: detector.BeforeStart}}},
	{Name: "a slate of 8 s", Description: "Shorter than the threshold.", Picture: film().slated(startingSoon.picture(), 30, 38), References: uploaded(startingSoon)},
	{Name: "a slate in a corner", Description: "A speaker shows it.", Picture: film().withFilter("null[below];%s,scale=128:72[above];[below][above]overlay=x=110:y=20:shortest=1", startingSoon.picture().filterGraph()), References: uploaded(startingSoon)},
}
