package detector

import (
	"math"
	"slices"
)

// Reference is a picture that people have uploaded for detectors to look for (section 17.6), as a watch has it.
type Reference struct {
	Name       string    `json:"name"` // for people
	Unwanted   Unwanted  `json:"unwanted"`
	Similarity float64   `json:"similarity"` // of a picture that shows this one, at least; MinSimilarity to MaxSimilarity
	Digests    []Picture `json:"digests"`    // of the uploaded picture, one for each matrix that video may have been encoded with
}

// JoinReferences returns the references of a monitor and those of its channel. Of one name it returns the monitor's own,
// because alerts and memories know a reference by its name.
func JoinReferences(own, ofChannel []Reference) []Reference {
	names := map[string]bool{}
	for _, r := range own {
		names[r.Name] = true
	}
	return append(own, slices.DeleteFunc(ofChannel, func(r Reference) bool { return names[r.Name] })...)
}

// Unwanted says when a reference should not be seen.
type Unwanted string

// The values of Unwanted. The start is the scheduled one of the broadcast.
const (
	AfterStart  Unwanted = "after_start" // the default
	BeforeStart Unwanted = "before_start"
	Always      Unwanted = "always"
)

// The limits of Reference.Similarity, and its default. Pictures that have nothing in common reach 0.8.
const (
	MinSimilarity     = 0.85 // another text on the same background may pass too
	MaxSimilarity     = 0.99
	DefaultSimilarity = 0.92
)

// Similarity returns the normalized cross-correlation of the luma of two pictures. It is 1 if they differ at most in
// brightness and contrast, and about 0 if they have nothing in common. It is 0 if one of them has no contrast.
func (p Picture) Similarity(q Picture) float64 {
	if len(p.Luma) != len(q.Luma) {
		return 0
	}
	var sumP, sumQ, squaresP, squaresQ, products int
	for i := range p.Luma {
		a, b := int(p.Luma[i]), int(q.Luma[i])
		sumP, sumQ, squaresP, squaresQ, products = sumP+a, sumQ+b, squaresP+a*a, squaresQ+b*b, products+a*b
	}
	n := len(p.Luma)
	contrasts := float64(n*squaresP-sumP*sumP) * float64(n*squaresQ-sumQ*sumQ)
	if contrasts == 0 {
		return 0
	}
	return float64(n*products-sumP*sumQ) / math.Sqrt(contrasts)
}

// ChromaDifference returns the mean of the absolute differences of the cells of U and V, in levels of 0 to 255.
func (p Picture) ChromaDifference(q Picture) float64 {
	if len(p.U) == 0 || len(p.U) != len(q.U) || len(p.V) != len(p.U) || len(q.V) != len(p.U) {
		return math.MaxUint8
	}
	sum := 0.0
	for i := range p.U {
		sum += math.Abs(float64(p.U[i])-float64(q.U[i])) + math.Abs(float64(p.V[i])-float64(q.V[i]))
	}
	return sum / float64(2*len(p.U))
}

// Contrast returns the standard deviation of the luma, in levels of 0 to 255.
func (p Picture) Contrast() float64 {
	sum, squares, n := 0, 0, max(1, len(p.Luma))
	for _, v := range p.Luma {
		sum, squares = sum+int(v), squares+int(v)*int(v)
	}
	return math.Sqrt(float64(n*squares-sum*sum)) / float64(n)
}
