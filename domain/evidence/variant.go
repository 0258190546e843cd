package evidence

import (
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Variant names one file of a Record.
type Variant string

// The variants.
const (
	Before   Variant = "before"   // the last picture before the onset
	Onset    Variant = "onset"    // the first picture with the condition
	Recovery Variant = "recovery" // the first picture after the condition
	Level    Variant = "level"    // the sound level of a minute as a picture
	Levels   Variant = "levels"   // the sound level of a minute as numbers
	Clip     Variant = "clip"     // the media around the onset
)

// form is what a variant's bytes may be.
type form struct {
	variant   Variant
	mediaType string
	extension string // of a downloaded file's name
	maxBytes  int64
}

var forms = []form{
	{Before, "image/jpeg", ".jpg", 512 << 10},
	{Onset, "image/jpeg", ".jpg", 512 << 10},
	{Recovery, "image/jpeg", ".jpg", 512 << 10},
	{Level, "image/png", ".png", 128 << 10},
	{Levels, "application/json", ".json", 64 << 10},
	{Clip, "video/mp4", ".mp4", 20 << 20},
}

// Variants lists all variants in the order in which a Record shows them.
func Variants() []Variant {
	all := make([]Variant, len(forms))
	for i, f := range forms {
		all[i] = f.variant
	}
	return all
}

// ParseVariant accepts the name of a variant. Anything else is NotFound, because no
// record has such a file.
func ParseVariant(s string) (Variant, error) {
	for _, f := range forms {
		if string(f.variant) == s {
			return f.variant, nil
		}
	}
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = string(f.variant)
	}
	return "", monitor.Errorf(NotFound, "no evidence has a file %.40q; the files are %s", s, strings.Join(names, ", "))
}

func (v Variant) form() form {
	for _, f := range forms {
		if f.variant == v {
			return f
		}
	}
	return form{}
}

// MaxBytes returns the size limit of the variant; 0 for an unknown one.
func (v Variant) MaxBytes() int64 { return v.form().maxBytes }

// MediaType returns the only media type that the variant has, such as image/jpeg.
func (v Variant) MediaType() string { return v.form().mediaType }

// FileName returns the name under which a browser saves the file.
func (v Variant) FileName(id ID) string { return string(id) + "-" + string(v) + v.form().extension }
