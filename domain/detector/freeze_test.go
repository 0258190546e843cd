package detector_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// picture returns a key frame at a time of its segment. Pictures with another seed differ everywhere, and noise
// is that of an encoder.
func picture(at time.Duration, seed uint64, noise int) detector.Picture {
	content, coding := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, uint64(at)))
	p := detector.Picture{At: at, Width: 256, Height: 144, Luma: make([]byte, detector.DigestWidth*detector.DigestHeight)}
	for i := range p.Luma {
		p.Luma[i] = byte(20 + content.IntN(200) + coding.IntN(noise+1))
	}
	return p
}

// pictures returns the key frames at the beginning of a segment of which only those were decoded.
func pictures(all ...detector.Picture) detector.Measured { return detector.Measured{Pictures: all} }

// film and still are segments of which every frame was decoded.
func film(seed uint64) detector.Measured {
	m := pictures(picture(0, seed, 2))
	for at := 200 * time.Millisecond; at < 5*time.Second; at += 200 * time.Millisecond {
		m.Movement = append(m.Movement, detector.FrameChange{At: at, Mean: 20, Block: 90, Ratio: 6})
	}
	return m
}

func still(seed uint64) detector.Measured {
	m := film(seed)
	for i := range m.Movement {
		m.Movement[i] = detector.FrameChange{At: m.Movement[i].At, Mean: 0.9, Block: 2.1, Ratio: 2.1}
	}
	return m
}

func screened(s *detector.Sample) { s.Video.Screened = true }

func TestAFreezeIsProvedByEveryFrameAndBeginsWithTheFirstStillPicture(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	j.sample(pictures(picture(0, 1, 2)), "good since 0", screened)
	j.sample(pictures(picture(0, 2, 2)), "good since 10", screened)
	j.sample(pictures(picture(0, 2, 2)), "good since 10 closely", screened)
	j.sample(still(2), "10-35 since 10 closely")
	j.sample(pictures(picture(0, 2, 2)), "10-45 since 10 closely", screened) // it goes on, once proved
	moves := still(2)
	moves.Movement[10].Mean = 40
	j.sample(moves, "10-52.2")
	j.sample(film(3), "good")
}

func TestWhatIsNoFreeze(t *testing.T) { // section 6.8
	t.Run("a still that never moved", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		for range 5 {
			j.sample(still(1), "good since 0")
		}
	})
	t.Run("a still that was black before", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		shown := still(2)
		shown.Pictures = []detector.Picture{picture(0, 1, 0), picture(2*time.Second, 1, 0), picture(3*time.Second, 2, 2)}
		for i := range shown.Movement {
			if shown.Movement[i].At == 3*time.Second {
				shown.Movement[i].Mean = 60 // to the black key frame before
			}
		}
		j.sample(shown, "good since 3", func(s *detector.Sample) {
			s.Intervals = map[detector.Name][]detector.Interval{detector.Blackout: {{To: 3 * time.Second}}}
		})
		for range 3 {
			j.sample(still(2), "good since 3")
		}
	})
	t.Run("a loop with equal key frames before and after an outage", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		j.sample(film(2), "good")
		j.sample(still(1), "good since 10")
		j.sample(still(1), "10-25 since 10 closely")
		j.since, j.before = time.Time{}, time.Time{} // condition.dropUnalerted
		j.sample(pictures(picture(0, 1, 2)), "good since 30", screened)
		j.sample(pictures(picture(0, 1, 2)), "good since 30 closely", screened)
		j.sample(film(1), "good")
	})
	t.Run("a still whose encoder settles", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		for _, block := range []float64{60, 20} { // a first coarse picture, and a later one
			settles := still(1)
			settles.Movement[3] = detector.FrameChange{At: settles.Movement[3].At, Mean: 8, Block: block, Ratio: 9}
			j.sample(settles, "good")
		}
		for range 3 {
			j.sample(still(1), "good since 20")
		}
	})
	t.Run("a loop with equal key frames", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		j.sample(film(2), "good")
		j.sample(pictures(picture(0, 1, 2)), "good since 10", screened)
		j.sample(pictures(picture(0, 1, 2)), "good since 10 closely", screened)
		j.sample(film(1), "good")
	})
	t.Run("a clock", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		j.sample(film(2), "good")
		for i := range 4 {
			p := picture(0, 1, 2)
			for _, cell := range []int{200, 201, 264, 265} {
				p.Luma[cell] = byte(40 + 15*i)
			}
			j.sample(pictures(p), []string{"good since 10", "good since 20", "good since 30", "good since 40"}[i], screened)
		}
	})
	t.Run("a black picture", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		j.sample(film(2), "good")
		for range 3 {
			j.sample(still(1), "good", func(s *detector.Sample) {
				s.Intervals = map[detector.Name][]detector.Interval{detector.Blackout: {{To: 5 * time.Second}}}
			})
		}
	})
	t.Run("a slow pan, which no two pictures show", func(t *testing.T) {
		j := judge(t, detector.Freeze)
		j.sample(film(2), "good")
		p := picture(0, 1, 2)
		j.sample(pictures(p), "good since 10", screened)
		for i := range p.Luma {
			p.Luma[i] += 3
		}
		j.sample(pictures(p), "good since 10 closely", screened)
		p.Luma = slices.Clone(p.Luma)
		for i := range p.Luma {
			p.Luma[i] += 4
		}
		j.sample(pictures(p), "good since 30", screened)
	})
}

func TestACalmPictureThatHangsInTheFirstMinuteIsFound(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	calm := still(1)
	calm.Movement[3] = detector.FrameChange{At: calm.Movement[3].At, Mean: 1.5, Block: 80, Ratio: 40} // in one place
	j.sample(calm, "good")
	j.sample(calm, "good")
	j.sample(still(1), "good since 20")
	j.sample(still(1), "20-35 since 20 closely")
}

func TestTheValuesSayHowLongAPictureStandsAndWhetherItEverMoved(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	expect := func(name string, sec float64, others int) {
		t.Helper()
		if v, has := j.values[name]; !has || v != sec || len(j.values) != 1+others {
			t.Errorf("second %v: the values are %v, want a %s of %v", j.second-10, j.values, name, sec)
		}
	}
	j.sample(still(1), "good since 0")
	expect("still_sec", 0, 1)
	j.sample(still(1), "good since 0")
	expect("unmoved_sec", 15, 0)
	j.sample(film(2), "good")
	expect("still_sec", 0, 1)
	j.sample(pictures(picture(0, 3, 2)), "good since 30", screened)
	j.sample(pictures(picture(0, 3, 2)), "good since 30 closely", screened)
	expect("still_sec", 15, 1)
	j.sample(still(3), "30-55 since 30 closely")
	expect("still_sec", 25, 1)
	moves := still(3)
	moves.Movement[10].Mean = 40
	j.sample(moves, "30-62.2")
	expect("still_sec", 32.2, 1)
}

func TestAFreezeGoesOnInAnotherRendition(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	j.sample(film(1), "good")
	j.sample(still(2), "good since 10")
	j.sample(still(2), "10-25 since 10 closely")
	larger := still(2)
	larger.Pictures[0].Width, larger.Pictures[0].Luma = 640, picture(0, 3, 0).Luma
	j.sample(larger, "unknown since 10 closely")
	j.sample(larger, "10-45 since 10 closely")
}

func TestAFreezeOfAPictureThatHasOnlyKeyFramesIsProved(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	j.sample(film(1), "good")
	shown := pictures(picture(0, 2, 2), picture(2*time.Second, 2, 2))
	j.sample(shown, "good since 10", screened)
	j.sample(pictures(picture(0, 2, 2)), "10-25 since 10 closely") // its only frame
}

func TestAFreezeBeginsWithTheKeyFrameThatChangedLast(t *testing.T) { // section 6.8
	j := judge(t, detector.Freeze)
	m := film(1)
	m.Pictures = append(m.Pictures, picture(2*time.Second, 2, 2))
	for i := range m.Movement {
		if m.Movement[i].At > 2*time.Second {
			m.Movement[i] = detector.FrameChange{At: m.Movement[i].At, Mean: 0.9, Ratio: 1}
		}
	}
	j.sample(m, "good since 2")
}
