package ytdlp

// sounds is what tells a stream's own sound from those to choose instead, among
// formats that all have pictures or all have none. yt-dlp says it in two ways:
//
//   - language_preference, where YouTube tells the languages of a stream: 10
//     for the original, 5 for the default, -10 for a description of the
//     pictures, -1 or null for any other;
//   - source_preference -2, for sound that a master playlist lists with
//     DEFAULT=NO or AUTOSELECT=NO.
//
// Neither counts when it is said of every sound there is.
type sounds struct {
	preferred float64 // the highest language_preference
	unmarked  bool    // there is sound without the mark
}

const (
	unpreferred = -1 // the language_preference that null stands for
	mark        = -2
)

// sounds looks at the formats that can be watched; the key is whether they have
// pictures.
func (v *video) sounds() map[bool]sounds {
	all := map[bool]sounds{}
	for _, f := range v.Formats {
		if !f.isHLS() || !f.hasAudio() {
			continue
		}
		s, seen := all[f.hasVideo()]
		if p := f.preference(); !seen || p > s.preferred {
			s.preferred = p
		}
		s.unmarked = s.unmarked || !f.marked()
		all[f.hasVideo()] = s
	}
	return all
}

// alternate tells whether the sound of f is one to choose instead.
func (s sounds) alternate(f format) bool {
	if !f.hasAudio() {
		return false
	}
	// Sound without a language is not a translation.
	translated := f.Language != nil && f.preference() < s.preferred
	return translated || f.marked() && s.unmarked
}

func (f format) preference() float64 {
	if f.LanguagePreference == nil {
		return unpreferred
	}
	return *f.LanguagePreference
}

// marked is said of sound alone: -2 has other meanings for pictures.
func (f format) marked() bool {
	return !f.hasVideo() && f.SourcePreference != nil && *f.SourcePreference == mark
}
