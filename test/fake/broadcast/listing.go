package broadcast

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// extent is a file, or a part of one.
type extent struct {
	file           string
	offset, length int64 // length 0: to its end
}

// item is a segment in ffmpeg's output.
type item struct {
	extent
	duration time.Duration
	ticks    int64  // DASH: duration, in listing.timescale
	iv       []byte // of an encrypted segment; nil otherwise
}

// listing is the packaged media of one playlist or representation, in order.
type listing struct {
	init      *extent
	items     []item
	timescale int64 // DASH
	first     int64 // DASH: time of the first item, in timescale
}

// readPlaylist reads a media playlist that ffmpeg has written.
func readPlaylist(text string) (listing, error) {
	var (
		l  listing
		it item
		iv []byte
	)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		tag, value, _ := strings.Cut(line, ":")
		var err error
		switch {
		case line == "":
		case tag == "#EXTINF":
			var seconds float64
			seconds, err = strconv.ParseFloat(strings.TrimSuffix(value, ","), 64)
			it.duration = time.Duration(seconds*1e6) * time.Microsecond
		case tag == "#EXT-X-BYTERANGE":
			it.offset, it.length, err = byteRange(value)
		case tag == "#EXT-X-MAP":
			l.init = &extent{file: attribute(value, "URI")}
			if r := attribute(value, "BYTERANGE"); r != "" {
				l.init.offset, l.init.length, err = byteRange(r)
			}
		case tag == "#EXT-X-KEY":
			iv, err = hex.DecodeString(strings.TrimPrefix(attribute(value, "IV"), "0x"))
		case !strings.HasPrefix(line, "#"):
			it.file, it.iv = line, iv
			l.items = append(l.items, it)
			it = item{}
		}
		if err != nil {
			return l, fmt.Errorf("broadcast: parse ffmpeg's output: %s: %w", line, err)
		}
	}
	if len(l.items) == 0 {
		return l, fmt.Errorf("broadcast: ffmpeg listed no segment: %q", text)
	}
	return l, nil
}

// byteRange reads LENGTH@OFFSET.
func byteRange(text string) (offset, length int64, err error) {
	_, err = fmt.Sscanf(text, "%d@%d", &length, &offset)
	return offset, length, err
}

// attribute returns a value of an attribute list. ffmpeg's values have no commas.
func attribute(list, name string) string {
	for a := range strings.SplitSeq(list, ",") {
		if value, found := strings.CutPrefix(a, name+"="); found {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// mpd holds the parts of ffmpeg's MPDs that this package reads.
type mpd struct {
	Representations []struct {
		ID       string `xml:"id,attr"`
		Template struct {
			Timescale int64  `xml:"timescale,attr"`
			Duration  int64  `xml:"duration,attr"`
			Init      string `xml:"initialization,attr"`
			Media     string `xml:"media,attr"`
			Timeline  []struct {
				T int64 `xml:"t,attr"`
				D int64 `xml:"d,attr"`
				R int64 `xml:"r,attr"`
			} `xml:"SegmentTimeline>S"`
		} `xml:"SegmentTemplate"`
	} `xml:"Period>AdaptationSet>Representation"`
}

// readManifest reads the representations of ffmpeg's MPD. The media have this length.
func readManifest(text []byte, length time.Duration) (all []listing, err error) {
	var m mpd
	if err := xml.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("broadcast: parse ffmpeg's output: %w", err)
	}
	for _, r := range m.Representations {
		t := r.Template
		file := func(pattern string, n int) string {
			pattern = strings.ReplaceAll(pattern, "$RepresentationID$", r.ID)
			return strings.ReplaceAll(pattern, "$Number%05d$", fmt.Sprintf("%05d", n))
		}
		l := listing{init: &extent{file: file(t.Init, 0)}, timescale: t.Timescale}
		add := func(ticks int64) {
			it := item{ticks: ticks, duration: ticksTime(ticks, t.Timescale)}
			it.file = file(t.Media, len(l.items)+1)
			l.items = append(l.items, it)
		}
		if t.Duration > 0 {
			for left := length; left > 0; left -= ticksTime(t.Duration, t.Timescale) {
				add(t.Duration)
			}
		}
		for i, s := range t.Timeline {
			if i == 0 {
				l.first = s.T
			}
			for range s.R + 1 {
				add(s.D)
			}
		}
		if len(l.items) == 0 {
			return nil, fmt.Errorf("broadcast: ffmpeg listed no segment of representation %s", r.ID)
		}
		all = append(all, l)
	}
	return all, nil
}

// ticksTime converts ticks to a duration.
func ticksTime(ticks, timescale int64) time.Duration {
	return time.Duration(ticks/timescale)*time.Second + time.Duration(ticks%timescale)*time.Second/time.Duration(timescale)
}
