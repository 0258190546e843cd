package detector_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// card returns a picture with a light bar at a place, so many levels above what is around it, in one colour.
func card(place, contrast int, colour byte) detector.Picture {
	luma := bytes.Repeat([]byte{20}, detector.DigestWidth*detector.DigestHeight)
	for i := range 400 {
		luma[place+i] += byte(contrast)
	}
	chroma := bytes.Repeat([]byte{colour}, detector.ChromaWidth*detector.ChromaHeight)
	return detector.Picture{Luma: luma, U: chroma, V: bytes.Repeat([]byte{128}, len(chroma))}
}

const soon, other, programme = 200, 1500, 900 // places: only those of one picture are similar

// cards is a segment with key frames of these pictures, one each 2 s.
func cards(pictures ...detector.Picture) detector.Measured {
	m := detector.Measured{}
	for i, p := range pictures {
		p.At = time.Duration(2*i) * time.Second
		m.Pictures = append(m.Pictures, p)
	}
	return m
}

// of returns cards of full contrast at places.
func of(places ...int) detector.Measured {
	var all []detector.Picture
	for _, p := range places {
		all = append(all, card(p, 200, 128))
	}
	return cards(all...)
}

// judgeSlates judges slates of two references, of which the first is unwanted at a time. The broadcast should
// start at a second; -1: at none that is known.
func judgeSlates(t *testing.T, unwanted detector.Unwanted, start float64) (*judging, func(detector.Measured, string, ...func(*detector.Sample))) {
	t.Helper()
	j := judge(t, detector.Slate)
	references := []detector.Reference{
		{Name: "soon", Unwanted: unwanted, Similarity: 0.92, Digests: []detector.Picture{card(soon, 100, 200), card(soon, 100, 128)}},
		{Name: "other", Unwanted: detector.Always, Similarity: 0.92, Digests: []detector.Picture{card(other, 100, 128)}},
	}
	return j, func(m detector.Measured, want string, changes ...func(*detector.Sample)) {
		t.Helper()
		given := func(s *detector.Sample) {
			s.References = references
			if start >= 0 {
				s.ScheduledStart = epoch.Add(time.Duration(start * float64(time.Second)))
			}
		}
		j.sample(m, want, append([]func(*detector.Sample){given}, changes...)...)
	}
}

func TestASlateIsUnwantedAtItsTime(t *testing.T) { // section 6.8
	for name, c := range map[string]struct {
		unwanted detector.Unwanted
		start    float64
		verdicts [5]string // of the slate twice, film, the slate twice
	}{
		"after a start":           {detector.AfterStart, 12, [5]string{"good since 5", "12-15 since 15", "good", "30-35 since 35", "35-45 since 45"}},
		"after a start between":   {detector.AfterStart, 7, [5]string{"good since 5", "7-15 since 15", "good", "30-35 since 35", "35-45 since 45"}},
		"after an unknown start":  {detector.AfterStart, -1, [5]string{"good since 5", "good since 15", "good", "30-35 since 35", "35-45 since 45"}},
		"before a start":          {detector.BeforeStart, 33, [5]string{"0-5 since 5", "5-15 since 15", "good", "30-33 since 35", "good since 45"}},
		"before an unknown start": {detector.BeforeStart, -1, [5]string{"0-5 since 5", "5-15 since 15", "good", "good since 35", "good since 45"}},
		"always":                  {detector.Always, 12, [5]string{"0-5 since 5", "5-15 since 15", "good", "30-35 since 35", "35-45 since 45"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, sample := judgeSlates(t, c.unwanted, c.start)
			for i, m := range []detector.Measured{of(soon, soon), of(soon), of(programme), of(soon), of(soon)} {
				sample(m, c.verdicts[i])
			}
		})
	}
}

func TestASlateBeginsAndEndsWithAPicture(t *testing.T) { // section 6.8
	black := func(s *detector.Sample) {
		s.Intervals = map[detector.Name][]detector.Interval{detector.Blackout: {{To: 5 * time.Second}}}
	}
	j, sample := judgeSlates(t, detector.Always, -1)
	sample(of(programme, soon, programme), "2-4")
	sample(of(other), "10-15 since 15")
	sample(of(other, soon), "15-22 22-25 since 25") // one after another
	sample(of(programme), "unknown", black)         // it may be anything
	sample(detector.Measured{}, "unknown")
	sample(of(soon), "50-55 since 55", black)                // a dark slate is a slate
	sample(cards(card(soon, 30, 128)), "55-65 since 65")     // dimmed
	sample(cards(card(soon+30, 200, 128)), "65-75 since 75") // 0.91 is like it: less keeps it
	sample(of(programme), "good")
	sample(cards(card(soon+30, 200, 128)), "good")
	sample(cards(card(soon, 200, 150)), "good")              // another colour
	sample(cards(card(soon, 200, 190)), "110-115 since 115") // that of the other matrix
	j.before = time.Time{}                                   // an outage
	sample(cards(card(soon+30, 200, 128)), "good")
}

func TestACutToTheProgrammeAndBackIsNoStart(t *testing.T) { // section 6.8
	_, sample := judgeSlates(t, detector.AfterStart, -1)
	sample(of(soon, programme), "good")
	sample(of(soon), "good since 15")
	sample(of(programme), "good")
	sample(of(soon), "30-35 since 35")
}

func TestReferencesThatAreRemovedEndWhatTheyHaveBegun(t *testing.T) { // section 6.8
	_, sample := judgeSlates(t, detector.Always, -1)
	none := func(s *detector.Sample) { s.References = nil }
	sample(of(soon), "unknown", none)
	sample(of(soon), "10-15 since 15")
	sample(of(soon), "good", none)
	sample(of(soon), "unknown", none)
	sample(of(other), "40-45 since 45")
	sample(of(soon), "good", func(s *detector.Sample) { s.References = s.References[:0] })
}

func TestTheReferenceOfAMonitorReplacesThatOfItsChannel(t *testing.T) { // section 17.6
	r := func(name string, similarity float64) detector.Reference {
		return detector.Reference{Name: name, Similarity: similarity}
	}
	for _, c := range []struct{ own, ofChannel, want []detector.Reference }{
		{nil, nil, nil},
		{nil, []detector.Reference{r("a", 0.85)}, []detector.Reference{r("a", 0.85)}},
		{[]detector.Reference{r("b", 0.9), r("c", 0.9)}, []detector.Reference{r("a", 0.85), r("b", 0.85)}, []detector.Reference{r("b", 0.9), r("c", 0.9), r("a", 0.85)}},
	} {
		if got := detector.JoinReferences(c.own, c.ofChannel); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v and %v are joined to %v, want %v", c.own, c.ofChannel, got, c.want)
		}
	}
}

// BenchmarkSlate judges a key frame that looks like none of ten references, each by both matrices.
func BenchmarkSlate(b *testing.B) {
	s := detector.Sample{From: epoch, To: epoch.Add(5 * time.Second), Origin: epoch, Measured: of(programme)}
	s.Taken = detector.Pictures
	for i := range 10 {
		place := other + 10*i
		s.References = append(s.References, detector.Reference{
			Name: fmt.Sprint(i), Unwanted: detector.Always, Similarity: 0.92, Digests: []detector.Picture{card(place, 100, 200), card(place, 100, 128)},
		})
	}
	d := detector.Table[detector.Index(detector.Slate)]
	for b.Loop() {
		if _, v := d.Judge(nil, time.Time{}, s, nil); len(v.Bad) > 0 || v.Unknown {
			b.Fatalf("the verdict is %+v", v)
		}
	}
}
