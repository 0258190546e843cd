package ytdlp

// audioGroup is what the audio of several formats has in common: all of them have video,
// or none has. It tells the original audio of a stream from alternates. yt-dlp marks
// alternates in two ways:
//
//   - language_preference, where YouTube gives the languages of a stream: 10 for the
//     original, 5 for the default, -10 for an audio description, -1 or null for any
//     other;
//   - source_preference -2, for audio that a master playlist lists with DEFAULT=NO or
//     AUTOSELECT=NO.
//
// A mark that all formats of the group have says nothing.
type audioGroup struct {
	topPreference float64 // the highest language_preference
	hasDefault    bool    // some audio is not marked with nonDefaultSource
}

const (
	noLanguagePreference = -1 // the language_preference that null stands for
	nonDefaultSource     = -2 // the source_preference of audio with DEFAULT=NO
)

// audioGroups returns the groups of the HLS formats. The key is whether they have video.
func (v *video) audioGroups() map[bool]audioGroup {
	groups := map[bool]audioGroup{}
	for _, f := range v.Formats {
		if !f.isHLS() || !f.hasAudio() {
			continue
		}
		g, exists := groups[f.hasVideo()]
		if p := f.languagePreference(); !exists || p > g.topPreference {
			g.topPreference = p
		}
		g.hasDefault = g.hasDefault || !f.isNonDefault()
		groups[f.hasVideo()] = g
	}
	return groups
}

// isAlternate reports whether the audio of f is not the original one.
func (g audioGroup) isAlternate(f format) bool {
	if !f.hasAudio() {
		return false
	}
	// Audio without a language is not a translation.
	translated := f.Language != nil && f.languagePreference() < g.topPreference
	return translated || f.isNonDefault() && g.hasDefault
}

func (f format) languagePreference() float64 {
	if f.LanguagePreference == nil {
		return noLanguagePreference
	}
	return *f.LanguagePreference
}

// isNonDefault applies to audio without video: for video, -2 has other meanings.
func (f format) isNonDefault() bool {
	return !f.hasVideo() && f.SourcePreference != nil && *f.SourcePreference == nonDefaultSource
}
