package collector

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strconv"
	"time"
)

// Sizes of the level plot in pixels, and the lowest level that it shows.
const (
	plotWidth  = 640
	plotHeight = 200
	plotLeft   = 34 // the labels of the level axis
	plotBottom = 20 // the labels of the time axis
	glyphScale = 2
	plotFloor  = -90.0
	maxTimes   = 12 // labels of the time axis
)

// The colours of the plot, by their index.
const (
	white = iota
	grey
	black
	blue // sound above the threshold
	red  // sound below it, and the threshold
)

var plotColours = color.Palette{
	color.RGBA{255, 255, 255, 255}, color.RGBA{214, 214, 214, 255}, color.RGBA{60, 60, 60, 255},
	color.RGBA{38, 104, 173, 255}, color.RGBA{196, 50, 42, 255},
}

// levelPlot draws levels over time.
type levelPlot struct {
	*image.Paletted

	body levelsBody
}

// plotLevels returns a PNG with a bar for each level. It has a line at the threshold and
// one at the instant. The axes are in dBFS and in seconds from the instant.
func plotLevels(body levelsBody) ([]byte, error) {
	p := levelPlot{image.NewPaletted(image.Rect(0, 0, plotWidth, plotHeight), plotColours), body}
	for db := 0; db > plotFloor; db -= 20 {
		p.horizontal(p.row(float64(db)), grey, 1)
		p.text(2, p.row(float64(db))-5, strconv.Itoa(db), black)
	}
	p.drawTimes()
	for _, l := range body.Levels {
		colour := uint8(blue)
		if l.DBFS < body.Threshold {
			colour = red
		}
		left, right := p.column(l.At), p.column(l.At.Add(9*levelLength/10))
		p.fill(image.Rect(left, p.row(max(l.DBFS, plotFloor+1)), max(right, left+1), plotHeight-plotBottom), colour)
	}
	p.horizontal(p.row(body.Threshold), red, 2)
	for y := range plotHeight - plotBottom {
		p.SetColorIndex(p.column(body.Instant), y, black)
	}
	var out bytes.Buffer
	err := png.Encode(&out, p)
	return out.Bytes(), err
}

// drawTimes labels the times from the instant, in steps that leave room for each label.
func (p levelPlot) drawTimes() {
	step := 10
	for _, larger := range []int{20, 30, 60, 120, 300, 600} {
		if p.body.To.Sub(p.body.From) > time.Duration(step*maxTimes)*time.Second {
			step = larger
		}
	}
	first := int(p.body.From.Sub(p.body.Instant).Seconds()) / step * step
	for s := first; ; s += step {
		at := p.body.Instant.Add(time.Duration(s) * time.Second)
		switch {
		case at.Before(p.body.From):
			continue
		case at.After(p.body.To):
			return
		}
		p.fill(image.Rect(p.column(at), 0, p.column(at)+1, plotHeight-plotBottom+3), grey)
		label := strconv.Itoa(s)
		p.text(p.column(at)-4*len(label), plotHeight-plotBottom+6, label, black)
	}
}

func (p levelPlot) column(at time.Time) int {
	length := max(p.body.To.Sub(p.body.From), time.Second)
	x := plotLeft + int(float64(plotWidth-plotLeft)*at.Sub(p.body.From).Seconds()/length.Seconds())
	return min(max(x, plotLeft), plotWidth-1)
}

func (p levelPlot) row(db float64) int {
	y := int(db / plotFloor * (plotHeight - plotBottom))
	return min(max(y, 0), plotHeight-plotBottom)
}

func (p levelPlot) fill(r image.Rectangle, colour uint8) {
	r = r.Intersect(p.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p.SetColorIndex(x, y, colour)
		}
	}
}

// horizontal draws a line with one pixel of every step.
func (p levelPlot) horizontal(y int, colour uint8, step int) {
	for x := plotLeft; x < plotWidth; x += step {
		p.SetColorIndex(x, y, colour)
	}
}

// glyphs are the digits and the minus sign, three columns of five rows each.
var glyphs = map[byte][5]string{
	'0': {"###", "# #", "# #", "# #", "###"}, '1': {" # ", "## ", " # ", " # ", "###"}, '2': {"###", "  #", "###", "#  ", "###"},
	'3': {"###", "  #", "###", "  #", "###"}, '4': {"# #", "# #", "###", "  #", "  #"}, '5': {"###", "#  ", "###", "  #", "###"},
	'6': {"###", "#  ", "###", "# #", "###"}, '7': {"###", "  #", "  #", "  #", "  #"}, '8': {"###", "# #", "###", "# #", "###"},
	'9': {"###", "# #", "###", "  #", "###"}, '-': {"   ", "   ", "###", "   ", "   "},
}

// text draws digits and minus signs from their upper left corner.
func (p levelPlot) text(x, y int, text string, colour uint8) {
	x, y = min(x, plotWidth-4*glyphScale*len(text)), max(y, 0)
	for i := range len(text) {
		for row, line := range glyphs[text[i]] {
			for column := range len(line) {
				if line[column] == '#' {
					corner := image.Pt(x+glyphScale*(4*i+column), y+glyphScale*row)
					p.fill(image.Rectangle{corner, corner.Add(image.Pt(glyphScale, glyphScale))}, colour)
				}
			}
		}
	}
}
