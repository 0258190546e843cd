package detector

// Words are what people read of a detector, in the languages of messages and of the dashboard.
type Words struct {
	English  Phrases `json:"en"`
	Japanese Phrases `json:"ja"`
}

// In returns the phrases of a language, "en" or "ja"; of any other, the English ones.
func (w Words) In(language string) Phrases {
	if language == "ja" {
		return w.Japanese
	}
	return w.English
}

// Phrases are the words of a detector in one language. The dashboard replaces what stands in braces:
// {lasted} by a duration, and the name of a criterion by its value. Messages replace {studio} by that of the source.
type Phrases struct {
	Title     string `json:"title"`     // the condition; messages, links and the dashboard name it so
	State     string `json:"state"`     // of the track while the condition lasts, in a list
	Lasts     string `json:"lasts"`     // a sentence: for how long, {lasted}
	Alert     string `json:"alert"`     // the event that tells it
	Recovered string `json:"recovered"` // the event that tells its end
	Means     string `json:"means"`     // a sentence: what counts as bad, with the criteria
	First     string `json:"first"`     // of messages: where to look first
	Check     string `json:"check"`     // of the page of an incident: what to check, and what else tells

	// Settings are labels of the fields of the config object, by field: of the threshold and of
	// each further setting. They say the unit.
	Settings map[string]string `json:"settings"`

	// Values are labels of what a Rule measures, by the names of Verdict.Values. They say the unit.
	Values map[string]string `json:"values,omitempty"`
}
