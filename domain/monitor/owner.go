package monitor

// MaxOwner is the most characters of the name of an Owner, on one line.
const MaxOwner = 100

// Owner is a file that monitors and channels belong to (section 19.8).
type Owner struct {
	Name  string // 1 to MaxOwner characters
	Adopt bool   // it takes over what has no owner
}

// Check refuses a change of what belongs to another owner. before is its owner; empty: it has none. Errors: *Error
// InvalidConfig of the field owner.
func (o Owner) Check(before, what string) error {
	switch {
	case before == o.Name, before == "" && o.Adopt:
		return nil
	case before == "":
		return FieldErrorf("owner", "is that of no file: %s was registered without one; let the file adopt it, or leave it out of the file", what)
	}
	return FieldErrorf("owner", "is %.100q: that file keeps %s; leave it out of one of the two", before, what)
}
