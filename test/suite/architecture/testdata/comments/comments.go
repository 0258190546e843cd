// This package holds comments that the test has to find.
package comments

// What is watched.
type Kind int

// Limit is how many there may be.
const Limit = 1

// That of Kind.
func (Kind) Method() {}

// Fine says how many there may be.
func Fine() {}
