package references

import (
	"bytes"
	"image"
	_ "image/jpeg" // accepted
	_ "image/png"  // accepted
	"math"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of a picture (section 17.6).
const (
	MaxPixels   = 1920 * 1088
	MinSide     = 64 // pixels
	MinContrast = 10 // standard deviation of the luma, in levels of 0 to 255: with less, any dark picture looks like it
	maxScans    = 64 // of a progressive JPEG, which usually has about ten: each costs as much as decoding all of a picture
)

// DigestedImage is an uploaded picture as detectors compare it.
type DigestedImage struct {
	MediaType     string
	Width, Height int
	Digests       []detector.Picture // by BT.601 and by BT.709
}

// matrices have the weights of red and blue in the luma of BT.601 and BT.709. The weight of green is the rest.
var matrices = [][2]float64{{0.299, 0.114}, {0.2126, 0.0722}}

// Digest decodes a JPEG or PNG, and divides it into the cells of a detector.Picture, as segment-decoder
// does with a picture of the stream. Errors: *monitor.Error InvalidConfig.
func Digest(raw []byte) (DigestedImage, error) {
	refuse := func(format string, args ...any) (DigestedImage, error) {
		return DigestedImage{}, monitor.FieldErrorf("image", format, args...)
	}
	header, format, err := image.DecodeConfig(bytes.NewReader(raw))
	switch {
	case len(raw) > MaxImageBytes:
		return refuse("has %d bytes; accepted are at most %d", len(raw), MaxImageBytes)
	case err != nil:
		return refuse("cannot be read: accepted is a JPEG or PNG")
	case header.Width < MinSide || header.Height < MinSide || header.Width > MaxPixels/header.Height:
		return refuse("has %d x %d pixels; accepted are %d pixels or more a side, and at most %d in all, such as 1920 x 1080", header.Width, header.Height, MinSide, MaxPixels)
	case format == "jpeg" && bytes.Count(raw, []byte{0xff, 0xda}) > maxScans:
		return refuse("is a JPEG of more than %d scans; accepted is one that any editor saves", maxScans)
	}
	decoded, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return refuse("is damaged (%.100s); accepted is a JPEG or PNG that is whole", err)
	}
	d := DigestedImage{MediaType: "image/" + format, Width: header.Width, Height: header.Height}
	cells := meanColours(decoded, detector.DigestWidth, detector.DigestHeight)
	large := joined(cells)
	for _, m := range matrices {
		p := detector.Picture{Width: d.Width, Height: d.Height}
		for _, c := range cells {
			y, _, _ := c.components(m)
			p.Luma = append(p.Luma, level(y))
		}
		for _, c := range large {
			_, u, v := c.components(m)
			p.U, p.V = append(p.U, level(u)), append(p.V, level(v))
		}
		d.Digests = append(d.Digests, p)
	}
	if contrast := d.Digests[0].Contrast(); contrast < MinContrast {
		return refuse("has a contrast of %.1f (the standard deviation of its luma, of 255); accepted are %d or more, because others look like it", contrast, MinContrast)
	}
	return d, nil
}

// colour is a mean colour of red, green and blue, in levels of 0 to 255.
type colour [3]float64

// components returns luma and chroma by a matrix, of the full range.
func (c colour) components(m [2]float64) (y, u, v float64) {
	y = m[0]*c[0] + (1-m[0]-m[1])*c[1] + m[1]*c[2]
	return y, 128 + (c[2]-y)/(2-2*m[1]), 128 + (c[0]-y)/(2-2*m[0])
}

func level(v float64) byte { return byte(math.Round(min(max(v, 0), math.MaxUint8))) }

// joined returns the means of the cells of the chroma: each has 4 by 4 cells of the luma.
func joined(cells []colour) []colour {
	const side = detector.DigestWidth / detector.ChromaWidth
	large := make([]colour, detector.ChromaWidth*detector.ChromaHeight)
	for i, c := range cells {
		at := i/detector.DigestWidth/side*detector.ChromaWidth + i%detector.DigestWidth/side
		for k := range c {
			large[at][k] += c[k] / (side * side)
		}
	}
	return large
}

// meanColours divides a picture into cells, row by row from the top left, and returns the mean of each. A
// transparent pixel is as dark as black behind it would make it.
func meanColours(picture image.Image, across, down int) []colour {
	bounds := picture.Bounds()
	cells := make([]colour, 0, across*down)
	for j := range down {
		for i := range across {
			var c colour
			left, right := i*bounds.Dx()/across, (i+1)*bounds.Dx()/across
			top, bottom := j*bounds.Dy()/down, (j+1)*bounds.Dy()/down
			for y := top; y < bottom; y++ {
				for x := left; x < right; x++ {
					r, g, b, _ := picture.At(bounds.Min.X+x, bounds.Min.Y+y).RGBA()
					c[0], c[1], c[2] = c[0]+float64(r), c[1]+float64(g), c[2]+float64(b)
				}
			}
			for k := range c {
				c[k] /= float64((right-left)*(bottom-top)) * 257
			}
			cells = append(cells, c)
		}
	}
	return cells
}
