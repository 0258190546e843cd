package detector

import "time"

// PictureDamage is a picture that the decoder calls damaged (section 6.8).
const PictureDamage Name = "picture_damage"

const damagedShare = "detectors.picture_damage.share"

var pictureDamage = Detector{
	Name: PictureDamage, Track: Video, Health: "damaged", Condition: "picture_damage",
	Alert: "alert.picture_damage", Recovered: "alert.picture_damage_recovered", Statistic: "picture_damage_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.picture_damage.threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of a damaged picture before alert.picture_damage.",
	},
	Settings: []Setting{{Field: damagedShare, Min: 0.01, Max: 1, Default: 0.2, Help: "The share of a segment, of 1, from which its picture is damaged."}},
	Criteria: []Criterion{{Name: "share_at_least", Setting: damagedShare}},
	Words:    pictureDamageWords,
	Rises:    slowRises,
	Example:  map[string]float64{"damaged_share": 0.34},
	Needs:    Damage, Rule: remembering(judgeDamage),
}

// damageStays is the part of the share that keeps a condition.
const damageStays = 0.25

// damageMemory says whether the sample before was damaged.
type damageMemory struct {
	Bad bool `json:"bad,omitempty"`
}

// judgeDamage judges the damaged share of a sample. Key frames alone show lost packets, but not all
// damage: any of it has every frame of the next segment decoded.
func judgeDamage(m damageMemory, _ time.Time, s Sample, setting func(string) float64) (damageMemory, Verdict) {
	if s.Damage == nil {
		return m, Verdict{Unknown: true}
	}
	var damaged time.Duration
	for _, i := range s.Damage.Intervals {
		damaged += i.To - i.From
	}
	share, limit := damaged.Seconds()/max(s.To.Sub(s.From).Seconds(), 0.001), setting(damagedShare)
	if m.Bad && !s.Before.IsZero() {
		limit *= damageStays
	}
	m.Bad = share >= limit
	v := Verdict{Closely: share > 0, Values: map[string]float64{"damaged_share": min(share, 1)}}
	if m.Bad {
		v.Bad = []Period{{s.From, s.To}}
	}
	return m, v
}
