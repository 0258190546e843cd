package dash

// form is how an attribute is handed on.
type form int

const (
	asWritten form = iota
	duration       // xs:duration, in a form that the library reads
	refused        // it changes what the others mean, in a way that is not supported
)

// element is one that the library is given, and what of it.
type element struct {
	name       string
	text       bool // its characters too
	attributes map[string]form
	children   map[string]*element
}

func newElement(name string, attributes []string, children ...*element) *element {
	e := &element{name: name, attributes: map[string]form{}, children: map[string]*element{}}
	for _, a := range attributes {
		e.attributes[a] = asWritten
	}
	for _, c := range children {
		e.children[c.name] = c
	}
	return e
}

// with sets the form of attributes.
func (e *element) with(f form, attributes ...string) *element {
	for _, a := range attributes {
		e.attributes[a] = f
	}
	return e
}

func texts(name string) *element {
	e := newElement(name, nil)
	e.text = true
	return e
}

// The names of elements that the sieve counts or chooses from.
const (
	nameMPD            = "MPD"
	namePeriod         = "Period"
	nameAdaptationSet  = "AdaptationSet"
	nameRepresentation = "Representation"
	nameS              = "S"
	nameSegmentURL     = "SegmentURL"
)

// root is what is asked about an MPD (ISO/IEC 23009-1, 5.3). What is not here
// is left out: events, metrics, pssh boxes, labels.
var root = newRoot()

func newRoot() *element {
	addressed := func() []*element {
		timing := []string{"timescale", "presentationTimeOffset", "eptDelta", "duration", "startNumber", "endNumber"}
		initialization := newElement("Initialization", []string{"sourceURL", "range"})
		timeline := newElement("SegmentTimeline", nil,
			newElement(nameS, []string{"t", "d", "r"}).with(refused, "n", "p", "pE"))
		return []*element{
			texts("BaseURL"),
			newElement("SegmentBase", nil),
			newElement("SegmentList", timing, initialization, timeline,
				newElement(nameSegmentURL, []string{"media", "mediaRange"})),
			newElement("SegmentTemplate", append([]string{"media", "initialization"}, timing...), initialization, timeline),
		}
	}
	descriptor := func(name string) *element { return newElement(name, []string{"schemeIdUri", "value"}) }
	described := append(addressed(), descriptor("ContentProtection"), descriptor("EssentialProperty"))

	representation := newElement(nameRepresentation,
		[]string{"id", "bandwidth", "mimeType", "codecs", "height"}, described...)
	set := newElement(nameAdaptationSet, []string{"contentType", "mimeType", "codecs", "lang", "height"},
		append(described, representation, descriptor("Role"), newElement("ContentComponent", []string{"contentType"}))...)
	period := newElement(namePeriod, nil, append(addressed(), set)...).with(duration, "start", "duration")
	return newElement(nameMPD, []string{"type", "availabilityStartTime"},
		period, texts("BaseURL"), texts("Location"), descriptor("UTCTiming")).
		with(duration, "mediaPresentationDuration", "timeShiftBufferDepth", "maxSegmentDuration")
}
