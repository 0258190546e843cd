package dash

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// template is a URL with identifiers (ISO/IEC 23009-1, 5.3.9.4.4).
type template struct {
	pieces    []piece
	hasNumber bool // $Number$
	hasTime   bool // $Time$
}

// piece is text, or an identifier that each segment replaces.
type piece struct {
	text       string
	identifier string // Number or Time; empty: text
	width      int    // digits to which the value is padded
}

// newTemplate parses a template. It replaces $RepresentationID$ and $Bandwidth$.
func newTemplate(text string, rep *mpd.RepresentationType) (template, *watch.Failure) {
	var t template
	parts := strings.Split(text, "$")
	if len(parts)%2 == 0 {
		return t, malformed("a template in which a $ is missing")
	}
	for i, part := range parts {
		if i%2 == 0 {
			t.pieces = append(t.pieces, piece{text: part})
			continue
		}
		identifier, format, formatted := strings.Cut(part, "%")
		width, ok := 1, true
		if formatted {
			width, ok = parseWidth(format)
		}
		if !ok || formatted && identifier == "RepresentationID" {
			return t, malformed("a template with a format other than %%0[1..%d]d", MaxWidth)
		}
		switch identifier {
		case "":
			if formatted {
				return t, malformed("a template with a format but no identifier")
			}
			t.pieces = append(t.pieces, piece{text: "$"})
		case "RepresentationID":
			t.pieces = append(t.pieces, piece{text: rep.Id})
		case "Bandwidth":
			t.pieces = append(t.pieces, piece{text: fmt.Sprintf("%0*d", width, rep.Bandwidth)})
		case "Number", "Time":
			t.hasNumber = t.hasNumber || identifier == "Number"
			t.hasTime = t.hasTime || identifier == "Time"
			t.pieces = append(t.pieces, piece{identifier: identifier, width: width})
		default:
			return t, malformed("a template with an identifier other than RepresentationID, Number, Time and Bandwidth")
		}
	}
	return t, nil
}

// parseWidth parses the format of an identifier after "%": "05d", or "d".
func parseWidth(format string) (int, bool) {
	digits, ok := strings.CutSuffix(format, "d")
	if !ok || digits == "" {
		return 1, ok
	}
	width, err := strconv.ParseUint(digits, 10, 8)
	return int(width), err == nil && digits[0] == '0' && width <= MaxWidth
}

// expand returns the URL of a segment.
func (t template) expand(number, time int64) string {
	var out strings.Builder
	for _, p := range t.pieces {
		switch p.identifier {
		case "Number":
			fmt.Fprintf(&out, "%0*d", p.width, number)
		case "Time":
			fmt.Fprintf(&out, "%0*d", p.width, time)
		default:
			out.WriteString(p.text)
		}
	}
	return out.String()
}
