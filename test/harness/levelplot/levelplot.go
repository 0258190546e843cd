// Package levelplot reads the sound levels back from the pixels of a level plot (section
// 16.2). It does so as a person does: by the height of the bars above the axis of time.
package levelplot

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"time"
)

// The geometry of a plot in pixels: the axes begin left at column left and at row bottom.
const (
	width, height = 640, 200
	left, bottom  = 34, 180
	floor         = -90.0 // dBFS at bottom; the uppermost row is 0 dBFS
)

// Column is one column of pixels.
type Column struct {
	At    time.Time
	Known bool    // a bar stands there
	DBFS  float64 // the height of the bar
	Red   bool    // the bar is below the threshold
}

// Read returns the columns of a plot whose axis of time has these ends, in their order.
func Read(raw []byte, from, to time.Time) ([]Column, error) {
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decode the plot: %w", err)
	}
	if size := img.Bounds().Size(); size.X != width || size.Y != height {
		return nil, fmt.Errorf("the plot has %v pixels", size)
	}
	var all []Column
	for x := left; x < width; x++ {
		c := Column{At: from.Add(time.Duration(float64(to.Sub(from)) * float64(x-left) / (width - left)))}
		y := bottom
		for y > 0 && isBar(img.At(x, y-1)) {
			y--
		}
		c.Known, c.DBFS, c.Red = y < bottom, floor*float64(y)/bottom, isRed(img.At(x, bottom-1))
		all = append(all, c)
	}
	return all, nil
}

func isBar(c color.Color) bool {
	r, _, b, _ := c.RGBA()
	return isRed(c) || b>>8 > 150 && r>>8 < 100
}

func isRed(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r>>8 > 150 && g>>8 < 100 && b>>8 < 100
}
