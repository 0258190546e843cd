package detector

import "time"

// RenditionState says what a look has found at a rendition that is not the watched one (section 6.8).
type RenditionState string

// The states of a rendition.
const (
	RenditionOK      RenditionState = "ok"
	RenditionFailed  RenditionState = "failed"  // its playlist or its newest segment cannot be read or decoded
	RenditionStalled RenditionState = "stalled" // its playlist stands still, and the watched one does not
	RenditionBlack   RenditionState = "black"   // its picture is black, and the watched one is not
	RenditionGone    RenditionState = "gone"    // the stream's manifest does not list it any more
	RenditionUnknown RenditionState = "unknown" // nothing was found out yet, or the watched one is bad too
)

// RenditionStates lists every state.
func RenditionStates() []RenditionState {
	return []RenditionState{RenditionOK, RenditionFailed, RenditionStalled, RenditionBlack, RenditionGone, RenditionUnknown}
}

// Bad reports whether the rendition is known to be worse than the watched one.
func (s RenditionState) Bad() bool { return s != RenditionOK && s != RenditionUnknown && s != "" }

// Rendition is a rendition of the stream that is not the watched one, as the newest look has found it.
type Rendition struct {
	Height    int // lines of the picture; 0: unknown
	Bandwidth int // bits per second; 0: unknown
	State     RenditionState

	// Looks counts the newest looks in a row that agree whether it is bad, however it is bad: at most EnoughLooks;
	// 0: its state is unknown. Since is when the first of them began, on the media timeline.
	Looks int
	Since time.Time
}

// JudgesRenditions reports whether the detector judges other renditions than the watched one. No closer
// look at that one tells it anything.
func (d Detector) JudgesRenditions() bool { return d.Needs&Renditions != 0 }
