package access

import "github.com/stream-monitor/stream-monitor/domain/monitor"

// LinkName stands in the audit list for a link in a message, which acts without a key.
const LinkName = "link in a message"

// Actor returns who acts with a key (section 12.4): the name of a personal one. API_KEY is
// used by several people, so theirs is the name that they give, cleaned.
func (k Key) Actor(given string) string {
	if !k.IsRoot() {
		return k.Name
	}
	return monitor.CleanLine(given)
}
