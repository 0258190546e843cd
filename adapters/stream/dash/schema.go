package dash

// attributeRule says how the filter passes on an attribute.
type attributeRule int

const (
	copied            attributeRule = iota
	wholeNumber                     // of as many bits as the library has for it
	rewrittenDuration               // xs:duration, in a form that the library reads
)

// element is an element that the library gets, with its used attributes and
// children.
type element struct {
	name       string
	hasText    bool
	attributes map[string]attributeRule
	children   map[string]*element

	// unusable is an attribute with a value that makes the element unusable. The filter adds it
	// in place of a number that cannot be read; empty: the number then counts as not stated.
	unusable string
}

func newElement(name string, attributes []string, children ...*element) *element {
	e := &element{name: name, attributes: map[string]attributeRule{}, children: map[string]*element{}}
	for _, a := range attributes {
		e.attributes[a] = copied
	}
	for _, c := range children {
		e.children[c.name] = c
	}
	return e
}

// with adds attributes with another rule than copied.
func (e *element) with(rule attributeRule, attributes ...string) *element {
	for _, a := range attributes {
		e.attributes[a] = rule
	}
	return e
}

func newTextElement(name string) *element {
	e := newElement(name, nil)
	e.hasText = true
	return e
}

// Names of the elements that the filter counts or selects.
const (
	nameMPD            = "MPD"
	namePeriod         = "Period"
	nameAdaptationSet  = "AdaptationSet"
	nameRepresentation = "Representation"
	nameS              = "S"
	nameSegmentURL     = "SegmentURL"
)

// schema lists the elements and attributes of an MPD that are used (ISO/IEC
// 23009-1, 5.3). Others are dropped, such as events, metrics, pssh boxes and labels.
var schema = newSchema()

func newSchema() *element {
	segmentInformation := func() []*element {
		timed := func(e *element) *element {
			e.unusable = ` timescale="0"`
			return e.with(wholeNumber, "timescale", "presentationTimeOffset", "eptDelta", "duration", "startNumber", "endNumber")
		}
		repetition := newElement(nameS, nil).with(wholeNumber, "t", "n", "d", "r", "p", "pE")
		repetition.unusable = ` d="0"`
		initialization := newElement("Initialization", []string{"sourceURL", "range"})
		timeline := newElement("SegmentTimeline", nil, repetition)
		return []*element{
			newTextElement("BaseURL"),
			newElement("SegmentBase", nil),
			timed(newElement("SegmentList", nil, initialization, timeline, newElement(nameSegmentURL, []string{"media", "mediaRange"}))),
			timed(newElement("SegmentTemplate", []string{"media", "initialization"}, initialization, timeline)),
		}
	}
	descriptor := func(name string) *element { return newElement(name, []string{"schemeIdUri", "value"}) }
	common := append(segmentInformation(), descriptor("ContentProtection"), descriptor("EssentialProperty"))

	representation := newElement(nameRepresentation,
		[]string{"id", "mimeType", "codecs"}, common...).with(wholeNumber, "bandwidth", "height")
	set := newElement(nameAdaptationSet, []string{"contentType", "mimeType", "codecs", "lang"},
		append(common, representation, descriptor("Role"), descriptor("Accessibility"), newElement("ContentComponent", []string{"contentType"}))...).with(wholeNumber, "height")
	period := newElement(namePeriod, nil, append(segmentInformation(), set)...).with(rewrittenDuration, "start", "duration")
	return newElement(nameMPD, []string{"type", "availabilityStartTime", "publishTime"},
		period, newTextElement("BaseURL"), newTextElement("Location"), descriptor("UTCTiming")).
		with(rewrittenDuration, "mediaPresentationDuration", "timeShiftBufferDepth", "maxSegmentDuration")
}
