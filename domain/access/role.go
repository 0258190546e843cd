package access

// Role says what the holder of a key may do. Each role includes the one before it.
type Role string

// The roles of section 12.4.
const (
	View     Role = "view"
	Operator Role = "operate"
	Admin    Role = "admin"
)

// Right names the kind of things that a request does.
type Right int

// The rights, each of which includes the one before it.
const (
	Read       Right = iota + 1 // read what there is
	Operate                     // change monitors, incidents and silences
	Administer                  // change destinations, routes and keys
)

// rights has the highest right of each role.
var rights = map[Role]Right{View: Read, Operator: Operate, Admin: Administer}

// May reports whether the role includes the right. An unknown role includes none.
func (r Role) May(what Right) bool { return rights[r] >= what }

func (r Role) valid() bool { return rights[r] > 0 }

// RoleFor returns the least role that includes the right.
func RoleFor(what Right) Role {
	for _, r := range []Role{View, Operator} {
		if r.May(what) {
			return r
		}
	}
	return Admin
}
