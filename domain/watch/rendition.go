package watch

import (
	"cmp"
	"slices"
)

// choose picks the rendition to watch: of those with both picture and sound,
// the smallest or the best (decision S8). A rendition whose size is not stated
// counts as larger than any that is. A stream that has no sound in any of them,
// or no picture, is watched as it is: it is silent, or black (S4). It reports
// false when there is none, or picture and sound are apart.
func choose(all []Rendition, p Preference) (Rendition, bool) {
	video := slices.ContainsFunc(all, func(r Rendition) bool { return r.HasVideo })
	audio := slices.ContainsFunc(all, func(r Rendition) bool { return r.HasAudio })
	var both []Rendition
	for _, r := range all {
		if r.HasVideo == video && r.HasAudio == audio && r.URL != "" {
			both = append(both, r)
		}
	}
	if len(both) == 0 {
		return Rendition{}, false
	}
	bySize := func(a, b Rendition) int {
		return cmp.Or(
			cmp.Compare(stated(a.Height), stated(b.Height)),
			cmp.Compare(stated(a.Bandwidth), stated(b.Bandwidth)),
			cmp.Compare(a.URL, b.URL), // any order will do, as long as it is the same next time
		)
	}
	if p == Best {
		known := slices.DeleteFunc(slices.Clone(both), func(r Rendition) bool { return r.Height == 0 && r.Bandwidth == 0 })
		if len(known) > 0 {
			both = known
		}
		return slices.MaxFunc(both, bySize), true
	}
	return slices.MinFunc(both, bySize), true
}

func stated(n int) int {
	if n <= 0 {
		return int(^uint(0) >> 1)
	}
	return n
}
