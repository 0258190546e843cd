package monitor

// MaxOwner is the most characters of the name of a file that keeps something, on one line.
const MaxOwner = 100

// Keeper is a file that keeps monitors and channels (section 19.8).
type Keeper struct {
	File  string // its name, 1 to MaxOwner characters
	Adopt bool   // it takes over what no file keeps
}

// Check refuses a change of what the file does not keep. owner is the file that keeps it; empty: none does. Errors:
// *Error InvalidConfig of the field owner.
func (k Keeper) Check(owner, what string) error {
	switch {
	case owner == k.File, owner == "" && k.Adopt:
		return nil
	case owner == "":
		return FieldErrorf("owner", "is that of no file: %s was registered without one; let the file adopt it, or leave it out of the file", what)
	}
	return FieldErrorf("owner", "is %.100q: that file keeps %s; leave it out of one of the two", owner, what)
}
