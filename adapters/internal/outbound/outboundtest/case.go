package outboundtest

// Verdict is what is to become of a URL with a host.
type Verdict int

// The verdicts.
const (
	Outside Verdict = iota // is connected to
	Inside                 // is refused as soon as its address is known: at registration, and at every dial
	Invalid                // is refused for its spelling, wherever it leads
	Nowhere                // a name that nobody knows today: may be registered, reaches nothing
)

// Case is a way to write a host, and what is to become of it.
type Case struct {
	Name string // a sentence
	Host string // as in a URL between "//" and the port, user name included

	Verdict Verdict

	// Leads is the address that a dial goes to, once it is allowed; empty where
	// there is none, or where it depends on the machine.
	Leads string

	ByName bool // it has to be looked up
	User   bool // it carries a user name, which callbacks may not (decision A2)
}

// URL is the host in a URL.
func (c Case) URL(scheme, port string) string { return scheme + "://" + c.Host + ":" + port + "/hook" }

// Cases is the table.
func Cases() (all []Case) {
	all = append(all, outside...)
	all = append(all, inside...)
	all = append(all, disguised...)
	all = append(all, numbers...)
	all = append(all, malformed...)
	return append(all, named...)
}
