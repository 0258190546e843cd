package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// The frame of every clip.
const (
	Width  = 256
	Height = 144
	Rate   = 25 // frames a second
)

// grain is the noise of a camera. No camera's picture is flat.
const grain = "noise=alls=6:allf=t"

// Picture describes a moving picture: a source and filters. Each method returns a copy
// with another filter.
type Picture struct {
	source  string   // chains of filters that end in 8-bit 4:2:0, limited range, with grain
	format  string   // to which it is then converted, default yuv420p
	filters []string // filters
}

// studio is a source with cuts, movement and lettering. A white window fills the
// top tenth of the picture.
func studio() Picture {
	return Picture{source: fmt.Sprintf(
		"testsrc2=s=%dx%d:r=%d,format=yuv420p,drawbox=x=0:y=0:w=iw:h=ih/10:c=white:t=fill,%s", Width, Height, Rate, grain)}
}

// film zooms slowly into a landscape in strong colours.
func film() Picture {
	return Picture{source: fmt.Sprintf(
		`mandelbrot=s=%dx%d:rate=%d:maxiter=400,scale=%d:%d:flags=bilinear,format=yuv420p,lutyuv=y=clip(val+30\,16\,235),%s`,
		Width/2, Height/2, Rate, Width, Height, grain)}
}

// show is a concert: coloured areas that move slowly.
func show() Picture {
	return Picture{source: fmt.Sprintf(
		"gradients=s=%dx%d:r=%d:seed=7:nb_colors=6:speed=0.02:c0=0x4060ff:c1=0xffd040:c2=0x30c060:c3=0xff4060:c4=0xf0f0ff:c5=0xb060e0,format=yuv420p,%s", Width, Height, Rate, grain)}
}

// crowd is a square full of people: many small moving areas.
func crowd() Picture {
	return Picture{source: fmt.Sprintf(
		"life=s=%dx%d:r=%d:seed=3:ratio=0.4:mold=8:death_color=#303860:life_color=#e0e0c0:mold_color=#705030,scale=%d:%d:flags=bilinear,format=yuv420p,%s",
		Width/2, Height/2, Rate, Width, Height, grain)}
}

// withFilter adds a filter.
func (p Picture) withFilter(format string, args ...any) Picture {
	p.filters = append(slices.Clip(p.filters), fmt.Sprintf(format, args...))
	return p
}

// withFormat sets the pixel format for the following filters.
func (p Picture) withFormat(format string) Picture { p.format = format; return p }

// dimmed lowers luma to a part of what it was, as when lamps are turned down.
func (p Picture) dimmed(part float64) Picture {
	return p.withFilter("lutyuv=y='16+(val-16)*%g':u='128+(val-128)*%g':v='128+(val-128)*%g'", part, part, part)
}

// darkened cuts to a flat picture of one luma and no colour in each part.
func (p Picture) darkened(luma int, parts ...[2]float64) Picture {
	grey := 128
	if strings.HasSuffix(p.format, "10le") {
		grey = 512
	}
	return p.withFilter("lutyuv=y=%d:u=%d:v=%d:enable='%s'", luma, grey, grey, frames(parts...))
}

// black cuts to black in each part: to 16, as digital video writes it.
func (p Picture) black(parts ...[2]float64) Picture { return p.darkened(16, parts...) }

// faded fades to black within d seconds from out on, and back from back on.
func (p Picture) faded(out, back, d float64) Picture {
	middle := (out + back) / 2
	return p.withFilter("fade=t=out:st=%g:d=%g:enable='lt(t,%g)'", out, d, middle).
		withFilter("fade=t=in:st=%g:d=%g:enable='gte(t,%g)'", back, d, middle)
}

// flashes shows white for one frame at each moment.
func (p Picture) flashes(moments ...float64) Picture {
	var parts [][2]float64
	for _, m := range moments {
		parts = append(parts, [2]float64{m, m + 1./Rate})
	}
	return p.darkened(235, parts...)
}

// box draws a filled box: where and how large are pixels, in them t is the
// time. Boxes that are lamps, logos and letters are not flat: grain follows.
func (p Picture) box(x, y string, w, h int, colour string) Picture {
	return p.withFilter("drawbox=x='%s':y='%s':w=%d:h=%d:c=%s:t=fill", x, y, w, h, colour)
}

// grained adds grain of a strength of its own.
func (p Picture) grained(strength int) Picture { return p.withFilter("noise=alls=%d:allf=t", strength) }

// filterGraph returns the recipe as a filter graph without an output label.
func (p Picture) filterGraph() string {
	format := p.format
	if format == "" {
		format = "yuv420p"
	}
	return strings.Join(append([]string{p.source, "format=" + format}, p.filters...), ",")
}

// frames is the filter expression that is true for the frames that begin
// within the parts; half a frame before is as good as there.
func frames(parts ...[2]float64) string { return during(0.5/Rate, parts...) }

func during(early float64, parts ...[2]float64) string {
	terms := []string{"0"}
	for _, p := range parts {
		terms = append(terms, fmt.Sprintf("gte(t,%g)*lt(t,%g)", p[0]-early, p[1]-early))
	}
	return strings.Join(terms, "+")
}
