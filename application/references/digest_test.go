package references_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// drawn returns a picture of a size whose pixels are those of a function.
func drawn(width, height int, pixel func(x, y int) color.RGBA) image.Image {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			picture.SetRGBA(x, y, pixel(x, y))
		}
	}
	return picture
}

// halves are dark on the left and light on the right.
func halves(dark, light byte) func(x, y int) color.RGBA {
	return func(x, _ int) color.RGBA {
		grey := dark
		if x >= 64 {
			grey = light
		}
		return color.RGBA{grey, grey, grey, 255}
	}
}

func asPNG(picture image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func asJPEG(picture image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// claiming returns a PNG whose header claims a size.
func claiming(width, height uint32) []byte {
	raw := asPNG(drawn(64, 64, halves(0, 255)))
	binary.BigEndian.PutUint32(raw[16:], width)
	binary.BigEndian.PutUint32(raw[20:], height)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	return raw
}

func TestAPictureIsRefusedWithWhatIsAccepted(t *testing.T) { // section 17.6
	good := asPNG(drawn(128, 72, halves(20, 60)))
	scans := asJPEG(drawn(128, 72, halves(0, 255)))
	for name, c := range map[string]struct {
		picture []byte
		want    string
	}{
		"no picture":             {[]byte("<svg/>"), "cannot be read: accepted is a JPEG or PNG"},
		"another format":         {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), "accepted is a JPEG or PNG"},
		"a file that is cut":     {good[:len(good)-20], "is damaged"},
		"a large file":           {append(good, make([]byte, 512<<10)...), "accepted are at most 524288"},
		"a decompression bomb":   {claiming(60000, 60000), "has 60000 x 60000 pixels; accepted are"},
		"a long line":            {claiming(1<<31-1, 1), "accepted are 64 pixels or more a side"},
		"a picture in 4K":        {claiming(3840, 2160), "such as 1920 x 1080"},
		"an icon":                {asPNG(drawn(32, 32, halves(0, 255))), "has 32 x 32 pixels"},
		"a JPEG of many scans":   {append(scans[:len(scans)-2], bytes.Repeat([]byte{0xff, 0xda, 0}, 100)...), "more than 64 scans"},
		"one colour":             {asPNG(drawn(128, 72, halves(20, 20))), "contrast of 0.0"},
		"hardly a contrast":      {asJPEG(drawn(128, 72, halves(20, 38))), "accepted are 10 or more"},
		"enough contrast":        {good, ""},
		"enough contrast, JPEG":  {asJPEG(drawn(128, 72, halves(20, 60))), ""},
		"the largest of 16 by 9": {asPNG(drawn(1920, 1080, halves(20, 60))), "contrast"}, // its left thirtieth is dark
	} {
		_, err := references.Digest(c.picture)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), string(monitor.InvalidConfig)+": image ") || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestADigestHasTheColoursOfVideo(t *testing.T) { // ITU-R BT.601 and BT.709
	got, err := references.Digest(asPNG(drawn(128, 72, func(x, _ int) color.RGBA {
		if x < 64 {
			return color.RGBA{R: 255, A: 255}
		}
		return color.RGBA{G: 255, A: 255}
	})))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][6]byte{{76, 85, 255, 150, 44, 21}, {54, 99, 255, 182, 30, 12}} {
		p := got.Digests[i]
		for k, value := range [6]byte{p.Luma[0], p.U[0], p.V[0], p.Luma[63], p.U[15], p.V[15]} {
			if math.Abs(float64(value)-float64(want[k])) > 1 {
				t.Errorf("digest %d: value %d is %d, want %d", i, k, value, want[k])
			}
		}
	}
}
